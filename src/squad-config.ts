import { existsSync, statSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { z } from 'zod';
import { HostError } from './core/errors.ts';
import { isInside } from './core/paths/troupe-home.ts';
import { defaultEngine, type SquadSettings } from './core/squads/settings.ts';
import { packageDirectory } from './dist-directory.ts';
import type { Engine } from './plugin.ts';

const path = z.string().min(1);

/** That of a template may be any; it stands in lists and logs. */
const engineName = z
  .string()
  .regex(/^.{1,60}$/, 'must be one line of at most 60 characters');

/** The configuration's `squad`. */
export const squadSchema = z
  .strictObject({
    stateMode: z
      .enum(['stateless', 'stateful'])
      .default('stateless')
      .describe('`stateful`: members have chats that go on.'),
    engine: engineName
      .optional()
      .describe(
        'What members run on. Default: `claude`. With `runTemplatePath` any name.'
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
      .describe('A file with the command that makes a chat and prints its id.'),
    processTimeoutMs: z
      .number()
      .min(1)
      .max(604_800_000)
      .default(600_000)
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
      .default(100)
      .describe('Milliseconds between two members that take turns.'),
    templateVariables: z
      .array(z.string().regex(/^[A-Za-z_]\w*$/, 'is no name of a variable'))
      .default([])
      .describe(
        'Names of variables that templates may use and their programs get.'
      )
  })
  .describe('How `start_squad_members` runs its members.');

export type SquadConfig = z.output<typeof squadSchema>;

/** Setting → the variable that names it; the flag is the same in kebab-case. */
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

/** Settings with the paths found: in the workspace, else in the package. */
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

/** Where role files of a workspace lie without being told. */
export const usualRoles = 'agents';

/** Where role files lie: in the package, and in the workspace. */
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
 * A server does not start with squads that could never run.
 * @param engines those that are offered
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
  // What is left out may have brought the engine.
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

/** What members run on without a template. */
function checkEngine(
  { engine, engineCommand }: SquadConfig,
  engines: Pick<Engine, 'name' | 'kind'>[],
  areNamed: boolean
): void {
  const name = engine ?? defaultEngine;
  const chosen = engines.find((one) => one.name === name);
  const names = engines.map((one) => one.name).join(', ');
  const template = 'set RUN_TEMPLATE_PATH for a program of your own';
  if (engine && !chosen)
    throw new HostError(
      'config_invalid',
      `ENGINE (squad.engine) names "${engine}", ${
        areNamed
          ? 'which is not among those that --engines (TROUPE_ENGINES) offers'
          : 'and there is no such engine'
      }.`,
      `Use one of ${names}${areNamed ? ', name it there too' : ''}, or ${template}.`
    );
  if (engineCommand && chosen?.kind === 'api')
    throw new HostError(
      'config_invalid',
      `ENGINE_COMMAND (squad.engineCommand) names a program, and squads run on "${name}", an API, which has none.`,
      `Leave it out, or ${template}.`
    );
}

/** @throws HostError `config_invalid` when one is named that is not there */
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
    'Relative paths start at the workspace. Mend the path, or leave it out.'
  );
}
