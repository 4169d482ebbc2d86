import { existsSync, statSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { z } from 'zod';
import { HostError } from '../core/errors.ts';
import { lazy } from '../core/lazy.ts';
import { isInside } from '../core/paths/troupe-home.ts';
import type { SquadSettings } from '../core/squads/settings.ts';
import { packageDirectory } from '../host/package.ts';
import type { Engine } from '../plugin/plugin.ts';
import { defaultConfig } from './defaults.ts';

/** The engine of squads if no setting names one. */
export const defaultEngine = 'claude';

/** The configuration's `squad`. */
export const squadSchema = lazy(() => {
  const path = z.string().min(1);

  // A template's engine may have any name; it appears in lists and logs.
  const engineName = z
    .string()
    .regex(/^.{1,60}$/, 'must be one line of at most 60 characters');

  const defaults = defaultConfig().squad;
  return z
    .strictObject({
      stateMode: z
        .enum(['stateless', 'stateful'])
        .default(defaults.stateMode)
        .describe('`stateful`: members have chats that go on.'),
      engine: engineName
        .optional()
        .describe(
          'What members run on. Default: `claude`. With `runTemplatePath` any name; by default that of the program.'
        ),
      engineCommand: z
        .string()
        .min(1)
        .optional()
        .describe("The program, in place of the engine's own."),
      runTemplatePath: path
        .optional()
        .describe('A file that says how a member is started.'),
      createChatTemplatePath: path
        .optional()
        .describe(
          'A file with the command that makes a chat and prints its id.'
        ),
      processTimeoutMs: z
        .number()
        .min(1)
        .max(604_800_000)
        .default(defaults.processTimeoutMs)
        .describe('Milliseconds until a member is stopped.'),
      executionMode: z
        .enum(['parallel', 'sequential'])
        .optional()
        .describe(
          'One member after another, or all at once. Default: as the engine is best used.'
        ),
      sequentialDelayMs: z
        .number()
        .min(0)
        .max(3_600_000)
        .default(defaults.sequentialDelayMs)
        .describe('Milliseconds between two members that take turns.'),
      templateVariables: z
        .array(z.string().regex(/^[A-Za-z_]\w*$/, 'is not a variable name'))
        .default(defaults.templateVariables)
        .describe(
          'Names of variables that templates may use and their programs get.'
        )
    })
    .describe('How `start_squad_members` runs its members.');
});

type SquadConfig = z.output<ReturnType<typeof squadSchema>>;

/** Setting → its variable; the flag has the same name in kebab-case. */
export const squadVariables = {
  stateMode: 'STATE_MODE',
  engine: 'ENGINE',
  engineCommand: 'ENGINE_COMMAND',
  runTemplatePath: 'RUN_TEMPLATE_PATH',
  createChatTemplatePath: 'CREATE_CHAT_TEMPLATE_PATH',
  processTimeoutMs: 'PROCESS_TIMEOUT_MS',
  executionMode: 'EXECUTION_MODE',
  sequentialDelayMs: 'SEQUENTIAL_DELAY_MS'
} as const satisfies Partial<Record<keyof SquadConfig, string>>;

export const rolesVariable = 'AGENTS_DIRECTORY_PATH';

/** Settings with resolved paths: in the workspace, else in the package. */
export function squadSettingsOf(
  {
    processTimeoutMs,
    runTemplatePath,
    createChatTemplatePath,
    ...squad
  }: SquadConfig,
  workspace: string
): SquadSettings {
  return {
    ...squad,
    defaultEngine,
    runTemplatePath: templatePath(workspace, runTemplatePath),
    createChatTemplatePath: templatePath(workspace, createChatTemplatePath),
    timeoutSeconds: processTimeoutMs / 1000
  };
}

function templatePath(
  workspace: string,
  asked: string | undefined
): string | undefined {
  if (asked === undefined) return undefined;
  const own = resolve(workspace, asked);
  const ours = join(packageDirectory(), asked);
  return !existsSync(own) && existsSync(ours) ? ours : own;
}

/** The default directory of role files in a workspace. */
export const usualRoles = 'agents';

/** The directories of role files, in the package and in the workspace. */
export function roleDirectoriesOf(
  workspace: string,
  rolesDirectory: string | undefined
) {
  const own = resolve(workspace, rolesDirectory ?? usualRoles);
  return {
    builtin: join(packageDirectory(), 'agents'),
    own,
    within: isInside(workspace, own) ? workspace : own
  };
}

/**
 * Rejects settings with which no squad could run.
 * @param engines the offered engines
 * @throws HostError `config_invalid`
 */
export function checkSquadConfig(
  workspace: string,
  {
    squad,
    rolesDirectory,
    onlyEngines,
    trust
  }: {
    squad: SquadConfig;
    rolesDirectory?: string | undefined;
    onlyEngines?: string[] | undefined;
    trust?: { leftOut: { setting: string }[] };
  },
  engines: Pick<Engine, 'name' | 'kind'>[]
): void {
  // The engine may come from a setting that is left out.
  const isWhole = !trust?.leftOut.some(({ setting }) =>
    ['plugins', 'squad.runTemplatePath'].includes(setting)
  );
  if (isWhole && !squad.runTemplatePath)
    checkEngine(squad, engines, onlyEngines !== undefined);
  const settings = squadSettingsOf(squad, workspace);
  for (const key of ['runTemplatePath', 'createChatTemplatePath'] as const) {
    const file = settings[key];
    if (file === undefined) continue;
    if (!statSync(file, { throwIfNoEntry: false })?.isFile())
      throw notThere(`${squadVariables[key]} (squad.${key})`, file, 'file');
  }
  checkRolesDirectory({ workspace, rolesDirectory });
}

/**
 * Checks the engine of members without a template.
 * @param isRestricted true if a flag or a variable lists the engines
 */
function checkEngine(
  { engine, engineCommand }: SquadConfig,
  engines: Pick<Engine, 'name' | 'kind'>[],
  isRestricted: boolean
): void {
  const name = engine ?? defaultEngine;
  const chosen = engines.find((one) => one.name === name);
  const names = engines.map((one) => one.name).join(', ');
  const template = 'set RUN_TEMPLATE_PATH for a program of your own';
  if (engine && !chosen)
    throw new HostError(
      'config_invalid',
      `ENGINE (squad.engine) names "${engine}", ${
        isRestricted
          ? 'which is not among those that --engines (TROUPE_ENGINES) offers'
          : 'and there is no such engine'
      }.`,
      `Use one of ${names}${isRestricted ? ', name it there too' : ''}, or ${template}.`
    );
  if (engineCommand && chosen?.kind === 'api')
    throw new HostError(
      'config_invalid',
      `ENGINE_COMMAND (squad.engineCommand) names a program, and squads run on "${name}", an API, which has none.`,
      `Leave it out, or ${template}.`
    );
}

/** @throws HostError `config_invalid` if a named directory is missing */
export function checkRolesDirectory({
  workspace,
  rolesDirectory
}: {
  workspace: string;
  rolesDirectory?: string | undefined;
}): void {
  if (rolesDirectory === undefined) return;
  const { own } = roleDirectoriesOf(workspace, rolesDirectory);
  if (!statSync(own, { throwIfNoEntry: false })?.isDirectory())
    throw notThere(`${rolesVariable} (rolesDirectory)`, own, 'directory');
}

function notThere(name: string, where: string, kind: string): HostError {
  return new HostError(
    'config_invalid',
    `${name} names ${where}, and there is no such ${kind}.`,
    'Relative paths start at the workspace. Correct the path, or leave it out.'
  );
}
