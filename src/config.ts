import { existsSync } from 'node:fs';
import { dirname } from 'node:path';
import type { z } from 'zod';
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
import { configSchema, type FileConfig } from './config-schema.ts';
import { suggestionFor } from './config-suggestion.ts';
import { HostError } from './core/errors.ts';
import { checkHomeOutside, troupeHome } from './core/paths/troupe-home.ts';
import type { CouncilDoor } from './council-config.ts';
import type { EngineSettings } from './engine-config.ts';
import { roleDirectoriesOf } from './squad-config.ts';
import { comesWith } from './trust/places.ts';
import { type Trust, TrustCheck, trustVariable } from './trust/trust.ts';
import { timesOf } from './wiring-times.ts';
import { isNowhere, workspaceOf } from './workspace-root.ts';

type Environment = Record<string, string | undefined>;

export interface Config
  extends Omit<FileConfig, 'engines' | 'plugins' | '$schema'> {
  engines: Record<string, EngineSettings>;
  /** Paths, packages, or engines as they are. */
  plugins: (string | object)[];
  /** Engines named by --engines or TROUPE_ENGINES: only these are offered. */
  onlyEngines: string[] | undefined;
  /** Engines that a command names: offered beside the others. */
  alsoEngines?: string[];
  /** How the council's tools are served, when they are alone. */
  councilDoor?: CouncilDoor;
  workspace: string;
  /** The user's own directory, `~/.troupe`, which holds all records. */
  home: string;
  /** The file that was read. */
  file: string | undefined;
  strict: boolean;
  /** What counts of what the workspace's own files ask for. */
  trust: Trust;
}

/** The configuration with what it was made of. */
export interface LoadedConfig {
  config: Config;
  /** What counts of the file, as it is written. */
  written: Record<string, unknown>;
  overrides: Override[];
}

/**
 * The configuration: flags before environment before file before defaults.
 * @throws HostError `config_invalid` with the path and reason of each fault
 */
export async function loadConfig(
  flags: Flags,
  environment: Environment = process.env
): Promise<Config> {
  return (await loadWithOrigin(flags, environment)).config;
}

/** The same, with where each setting comes from. */
export async function loadWithOrigin(
  flags: Flags,
  environment: Environment = process.env
): Promise<LoadedConfig> {
  const workspace = workspaceOf(flags, environment);
  const home = troupeHome(environment);
  checkHomeOutside(workspace, home, environment);
  const check = trustCheckOf(workspace, flags, environment);
  const { file, value } = await check.read(flags.config);
  // An empty file is no object, and no fault.
  const all = value ?? {};
  const overrides = overridesOf(flags, environment, isObject(all) ? all : {});
  // Also what is left out has to be valid.
  const whole = validated(file, overrides, all);
  const written = check.narrowed(all);
  const { $schema, engines, ...rest } =
    written === all ? whole : validated(file, overrides, written);
  await lookAtRoles(check, workspace, rest.rolesDirectory);
  const config: Config = {
    ...rest,
    engines: Object.fromEntries(
      Object.entries(engines).map(([name, settings]) => [
        name,
        settings === true ? {} : settings
      ])
    ),
    onlyEngines: listOf(flags.engines ?? environment.TROUPE_ENGINES),
    workspace,
    home,
    file,
    strict: flags.strict ?? false,
    trust: check.result()
  };
  return { config, written: isObject(written) ? written : {}, overrides };
}

/** @throws HostError `config_invalid` */
function validated(
  file: string | undefined,
  overrides: Override[],
  written: unknown
): FileConfig {
  const merged = isObject(written) ? overridden(written, overrides) : written;
  const parsed = configSchema.safeParse(merged);
  if (!parsed.success) throw invalid(file, overrides, parsed.error, merged);
  return parsed.data;
}

/**
 * What the files of a workspace ask for, and what of it the user has granted.
 * No code of the workspace runs, and neither flag nor variable counts as trust.
 * @throws HostError `config_invalid`
 */
export async function surveyTrust(
  flags: Flags,
  environment: Environment = process.env
): Promise<Trust> {
  const workspace = workspaceOf(flags, environment);
  const check = new TrustCheck({
    ...trustSettings(workspace, environment),
    isAll: false,
    runsNothing: true
  });
  const { file, value } = await check.read(flags.config);
  const written = check.narrowed(value ?? {});
  const all = isObject(written) ? written : {};
  const overrides = overridesOf(flags, environment, all);
  const { rolesDirectory } = validated(file, overrides, written);
  await lookAtRoles(check, workspace, rolesDirectory);
  return check.result();
}

/** What finds out how far the files of a workspace count. */
export function trustCheckOf(
  workspace: string,
  { trust }: Pick<Flags, 'trust'> = {},
  environment: Environment = process.env
): TrustCheck {
  return new TrustCheck({
    ...trustSettings(workspace, environment),
    isAll: trust === true || environment[trustVariable] === '1'
  });
}

function trustSettings(workspace: string, environment: Environment) {
  return {
    workspace,
    environment,
    // There is no project whose file it could be.
    isOwnFile: () => isNowhere(workspace),
    timesOf
  };
}

async function lookAtRoles(
  check: TrustCheck,
  workspace: string,
  directory: string | undefined
): Promise<void> {
  const directories = roleDirectoriesOf(workspace, directory);
  if (!existsSync(directories.own)) return;
  // One elsewhere was named by the user, or granted.
  if (comesWith(workspace, directories.own))
    await check.lookAtRoles(directories);
  else check.trustRoles();
}

/** Whether a group of tools is served. */
export function hasToolset({ toolsets }: Config, name: string): boolean {
  return serves(toolsets, name);
}

/** Who names an engine for squads means it to be there, with no list of them. */
export function squadEngineOf(config: Config): string[] {
  const { squad, onlyEngines } = config;
  const isOpen = onlyEngines === undefined && hasToolset(config, 'squad');
  return isOpen && squad.engine !== undefined ? [squad.engine] : [];
}

/** Where relative paths of the configuration start. */
export function baseDirectoryOf(config: Config): string {
  return config.file ? dirname(config.file) : config.workspace;
}

function invalid(
  file: string | undefined,
  overrides: Override[],
  error: z.ZodError,
  merged: unknown
): HostError {
  const issues = error.issues.flatMap(told);
  const faults = issues.map((issue) => {
    const path = issue.path.join('.') || '(root)';
    const source = sourceOf(issue.path, overrides);
    const where = source === undefined ? `in ${file}` : `from ${source}`;
    return `${path} ${where}: ${issue.message}`;
  });
  return new HostError(
    'config_invalid',
    `The configuration is not valid. ${faults.join('; ')}.`,
    `${suggestionFor(configSchema, issues, merged)}docs/reference/configuration.md shows every key.`
  );
}

/** Of "either … or", the faults of the last: the fullest form of a value. */
function told(issue: z.core.$ZodIssue): z.core.$ZodIssue[] {
  const last = issue.code === 'invalid_union' ? issue.errors.at(-1) : undefined;
  return (last ?? [issue]).map((inner) =>
    inner === issue ? issue : { ...inner, path: [...issue.path, ...inner.path] }
  );
}
