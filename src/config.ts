import { realpathSync, statSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, resolve } from 'node:path';
import { z } from 'zod';
import { readConfigFile } from './config-file.ts';
import {
  type Flags,
  isObject,
  listOf,
  type Override,
  overridden,
  overridesOf,
  serves,
  sourceOf
} from './config-overrides.ts';
import { HostError } from './core/errors.ts';
import { type CouncilDoor, councilSchema } from './council-config.ts';
import { orchestratorSchema } from './orchestrator-config.ts';
import { squadSchema } from './squad-config.ts';

const access = z.enum(['read', 'write', 'full']);
const seconds = z.number().min(0).max(604_800);
const dollars = z.number().min(0);
const count = z.number().int().min(1);

const engineSettings = z
  .strictObject({
    enabled: z.boolean().optional().describe('false hides the engine'),
    command: z.string().min(1).optional().describe('program name or path'),
    args: z.array(z.string()).optional().describe('put before our own'),
    model: z.string().min(1).optional().describe('default model'),
    timeoutSeconds: seconds.optional(),
    idleTimeoutSeconds: seconds.optional().describe('0: never'),
    retrySeconds: seconds
      .optional()
      .describe(
        'after so long of failures in a row, one more ends a run; 0: none does'
      ),
    baseUrl: z
      .url({ protocol: /^https?$/ })
      // It shows in errors and in arguments, where no secret may be.
      .refine((url) => !/^[^/]*\/\/[^/?#]*@/.test(url), {
        error: 'An address holds no user name or password'
      })
      .optional()
      .describe('another address of the provider'),
    stream: z
      .boolean()
      .optional()
      .describe('API engines: false where the address cannot stream'),
    env: z.record(z.string(), z.string()).optional().describe('added variables')
  })
  .describe('Settings of one engine; naming one switches it on');

/** The configuration file. Every key is optional. */
export const configSchema = z.strictObject({
  $schema: z.string().optional(),
  engines: z
    .record(z.string(), z.union([z.literal(true), engineSettings]))
    .default({}),
  plugins: z
    .array(z.union([z.string().min(1), z.looseObject({})]))
    .default([])
    .describe('paths relative to this file, package names, or objects'),
  toolsets: z
    .array(
      z.enum([
        'spawn',
        'runs',
        'squad',
        'council',
        'orchestrator',
        'worker',
        'all'
      ])
    )
    .refine((names) => !names.includes('worker') || names.length === 1, {
      error: '"worker" is only ever served alone'
    })
    .optional(),
  maxAccess: access.default('full').describe('ceiling for every agent'),
  maxConcurrent: count
    .default(8)
    .describe('CLI agents at work at once in the workspace; more are queued'),
  maxConcurrentApi: count
    .default(16)
    .describe('API agents at work at once in the workspace; more are queued'),
  prices: z
    .record(
      z.string(),
      z.strictObject({
        input: dollars,
        output: dollars,
        cached: dollars.optional()
      })
    )
    .default({})
    .describe('US dollars per million tokens, by model; before the published'),
  maxDepth: count.default(2).describe('agents that agents may spawn'),
  onDisconnect: z
    .enum(['keep', 'stop'])
    .default('keep')
    .describe('what happens to running agents when the server goes'),
  outputLimitMegabytes: z.number().positive().default(256),
  rolesDirectory: z
    .string()
    .min(1)
    .optional()
    .describe('role files, relative to the workspace; default: agents'),
  squad: squadSchema.prefault({}),
  council: councilSchema.prefault({}),
  orchestrator: orchestratorSchema.prefault({}),
  iac: z
    .strictObject({
      entries: count.max(200).default(200),
      megabytes: z.number().positive().max(4).default(4)
    })
    .prefault({})
});

export type FileConfig = z.output<typeof configSchema>;

export interface Config
  extends Omit<FileConfig, 'engines' | 'plugins' | '$schema'> {
  engines: Record<string, z.output<typeof engineSettings>>;
  /** Paths, packages, or engines as they are. */
  plugins: (string | object)[];
  /** Engines named by --engines or TROUPE_ENGINES: only these are offered. */
  onlyEngines: string[] | undefined;
  /** Engines that a command names: offered beside the others. */
  alsoEngines?: string[];
  /** How the council's tools are served, when they are alone. */
  councilDoor?: CouncilDoor;
  workspace: string;
  /** The file that was read. */
  file: string | undefined;
  strict: boolean;
}

/**
 * The configuration: flags before environment before file before defaults.
 * @throws HostError `config_invalid` with the path and reason of each fault
 */
export async function loadConfig(
  flags: Flags,
  environment: Record<string, string | undefined> = process.env
): Promise<Config> {
  const workspace = workspaceOf(flags, environment);
  const { file, value } = await readConfigFile(workspace, flags.config);
  // An empty file is no object, and no fault.
  const written = value ?? {};
  const settings = isObject(written) ? written : {};
  const overrides = overridesOf(flags, environment, settings);
  const merged = isObject(written) ? overridden(written, overrides) : written;
  const parsed = configSchema.safeParse(merged);
  if (!parsed.success) throw invalid(file, overrides, parsed.error);
  const { $schema, engines, ...rest } = parsed.data;
  return {
    ...rest,
    engines: Object.fromEntries(
      Object.entries(engines).map(([name, settings]) => [
        name,
        settings === true ? {} : settings
      ])
    ),
    onlyEngines: listOf(flags.engines ?? environment.TROUPE_ENGINES),
    workspace,
    file,
    strict: flags.strict ?? false
  };
}

/** `--workspace`, else CLAUDE_PROJECT_DIR, else the working directory. */
export function workspaceOf(
  flags: Pick<Flags, 'workspace'>,
  environment: Record<string, string | undefined>
): string {
  const asked =
    flags.workspace ?? (environment.CLAUDE_PROJECT_DIR || undefined);
  const path = resolve(asked ?? process.cwd());
  const there = statSync(path, { throwIfNoEntry: false });
  if (!there?.isDirectory())
    throw new HostError(
      'config_invalid',
      `The workspace ${path} ${there ? 'is no directory' : 'does not exist'}.`,
      'Give an existing directory with --workspace.'
    );
  return realpathSync(path);
}

/** Whether a group of tools is served. */
export function hasToolset({ toolsets }: Config, name: string): boolean {
  return serves(toolsets, name);
}

/** True where the working directory says nothing about the project. */
export function isNowhere(path: string): boolean {
  return path === resolve('/') || path === resolve(homedir());
}

/** Where relative paths of the configuration start. */
export function baseDirectoryOf(config: Config): string {
  return config.file ? dirname(config.file) : config.workspace;
}

function invalid(
  file: string | undefined,
  overrides: Override[],
  error: z.ZodError
): HostError {
  const faults = error.issues.flatMap(told).map((issue) => {
    const path = issue.path.join('.') || '(root)';
    const source = sourceOf(issue.path, overrides);
    const where = source === undefined ? `in ${file}` : `from ${source}`;
    return `${path} ${where}: ${issue.message}`;
  });
  return new HostError(
    'config_invalid',
    `The configuration is not valid. ${faults.join('; ')}.`,
    'docs/configuration.md shows every key.'
  );
}

/** Of "either … or", the faults of the last: the fullest form of a value. */
function told(issue: z.core.$ZodIssue): z.core.$ZodIssue[] {
  const last = issue.code === 'invalid_union' ? issue.errors.at(-1) : undefined;
  return (last ?? [issue]).map((inner) =>
    inner === issue ? issue : { ...inner, path: [...issue.path, ...inner.path] }
  );
}
