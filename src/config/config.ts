import { dirname } from 'node:path';
import { z } from 'zod';
import { HostError } from '../core/errors.ts';
import { didYouMean } from '../core/nearest.ts';
import { checkHomeOutside, troupeHome } from '../core/paths/troupe-home.ts';
import { workspaceOf } from '../host/workspace-root.ts';
import type { CouncilDoor } from './council.ts';
import { defaultConfig } from './defaults.ts';
import {
  type Flags,
  isObject,
  listOf,
  type Override,
  overridden,
  overridesOf,
  serves,
  sourceOf,
  valueAt
} from './overrides.ts';
import {
  configSchema,
  type EngineSettings,
  type FileConfig
} from './schema.ts';
import { roleDirectoriesOf } from './squads.ts';
import { type Trust, TrustCheck, trustVariable } from './trust.ts';

type Environment = Record<string, string | undefined>;

export interface Config
  extends Omit<FileConfig, 'engines' | 'plugins' | '$schema'> {
  engines: Record<string, EngineSettings>;
  /** Paths, packages, or engines themselves. */
  plugins: (string | object)[];
  /** From --engines or TROUPE_ENGINES: the only engines that are offered. */
  onlyEngines: string[] | undefined;
  /** Engines that a command names, offered in addition. */
  alsoEngines?: string[];
  /** How the council's tools are served if they are the only ones. */
  councilDoor?: CouncilDoor;
  workspace: string;
  /** The user's own directory, `~/.troupe`, which holds all records. */
  home: string;
  /** The configuration file, if there is one. */
  file: string | undefined;
  strict: boolean;
  /** Which requests of the workspace's own files are granted. */
  trust: Trust;
}

/** The configuration with its sources. */
export interface LoadedConfig {
  config: Config;
  /** The settings of the file that take effect, as written. */
  written: Record<string, unknown>;
  overrides: Override[];
}

/**
 * Loads the configuration. Flags override the environment, which overrides the
 * file, which overrides the defaults.
 * @throws HostError `config_invalid` with the path and reason of each fault
 */
export async function loadConfig(
  flags: Flags,
  environment: Environment = process.env
): Promise<Config> {
  return (await loadWithOrigin(flags, environment)).config;
}

/** Loads the configuration with the source of each setting. */
export async function loadWithOrigin(
  flags: Flags,
  environment: Environment = process.env
): Promise<LoadedConfig> {
  const workspace = workspaceOf(flags, environment);
  const home = troupeHome(environment);
  checkHomeOutside(workspace, home, environment);
  const check = trustCheckOf(workspace, flags, environment);
  const { file, value } = await check.read(flags.config);
  // An empty file is valid.
  const all = value ?? {};
  const overrides = overridesOf(flags, environment, isObject(all) ? all : {});
  // Settings that are left out must be valid, too.
  const whole = validated(file, overrides, all);
  const written = check.narrowed(all);
  const { $schema, engines, ...rest } =
    written === all ? whole : validated(file, overrides, written);
  await check.checkRoles(roleDirectoriesOf(workspace, rest.rolesDirectory));
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
  if (isObject(merged) && Object.keys(merged).length === 0)
    return defaultConfig();
  const parsed = configSchema().safeParse(merged);
  if (!parsed.success) throw invalid(file, overrides, parsed.error, merged);
  return parsed.data;
}

/**
 * Lists the requests of a workspace's files, and which the user has granted.
 * No code of the workspace runs, and no flag or variable counts as trust.
 * @throws HostError `config_invalid`
 */
export async function surveyTrust(
  flags: Flags,
  environment: Environment = process.env
): Promise<Trust> {
  const workspace = workspaceOf(flags, environment);
  const check = new TrustCheck(workspace, environment, { runsNothing: true });
  const { file, value } = await check.read(flags.config);
  const written = check.narrowed(value ?? {});
  const all = isObject(written) ? written : {};
  const overrides = overridesOf(flags, environment, all);
  const { rolesDirectory } = validated(file, overrides, written);
  await check.checkRoles(roleDirectoriesOf(workspace, rolesDirectory));
  return check.result();
}

/** Creates the check of which requests of a workspace are granted. */
export function trustCheckOf(
  workspace: string,
  { trust }: Pick<Flags, 'trust'> = {},
  environment: Environment = process.env
): TrustCheck {
  const isAll = trust === true || environment[trustVariable] === '1';
  return new TrustCheck(workspace, environment, { isAll });
}

export function hasToolset({ toolsets }: Config, name: string): boolean {
  return serves(toolsets, name);
}

/** The engine of squads; empty without squads or with a list of engines. */
export function squadEngineOf(config: Config): string[] {
  const { squad, onlyEngines } = config;
  const isOpen = onlyEngines === undefined && hasToolset(config, 'squad');
  return isOpen && squad.engine !== undefined ? [squad.engine] : [];
}

/** The base of relative paths in the configuration. */
export function baseDirectoryOf(config: Config): string {
  return config.file ? dirname(config.file) : config.workspace;
}

function invalid(
  file: string | undefined,
  overrides: Override[],
  error: z.ZodError,
  merged: unknown
): HostError {
  const issues = error.issues.flatMap(issuesOf);
  const faults = issues.map((issue) => {
    const path = issue.path.join('.') || '(root)';
    const source = sourceOf(issue.path, overrides);
    const where = source === undefined ? `in ${file}` : `from ${source}`;
    return `${path} ${where}: ${issue.message}${quoted(issue, merged)}`;
  });
  return new HostError(
    'config_invalid',
    `The configuration is not valid. ${faults.join('; ')}.`,
    `${suggestionFor(configSchema(), issues, merged)}docs/reference/configuration.md shows every key.`
  );
}

/** Settings whose values may contain a secret. */
const mayBeSecret = ['env', 'args', 'command', 'engineCommand', 'plugins'];

/** The invalid value, if it is a number, a boolean or a single word. */
function quoted(issue: z.core.$ZodIssue, merged: unknown): string {
  const value = valueAt(merged, issue.path);
  const isWord =
    typeof value === 'string' &&
    /^[a-z][\w-]{0,23}$/i.test(value) &&
    (issue.code === 'invalid_value' ||
      (issue.code === 'invalid_type' && issue.expected !== 'string'));
  const isPlain = typeof value === 'number' || typeof value === 'boolean';
  const isOpen = !issue.path.some((part) => mayBeSecret.includes(String(part)));
  return isOpen && (isPlain || isWord) ? ` (not ${JSON.stringify(value)})` : '';
}

/** For a union, the issues of its last option, the most detailed form. */
function issuesOf(issue: z.core.$ZodIssue): z.core.$ZodIssue[] {
  const last = issue.code === 'invalid_union' ? issue.errors.at(-1) : undefined;
  return (last ?? [issue]).map((inner) =>
    inner === issue ? issue : { ...inner, path: [...issue.path, ...inner.path] }
  );
}

/**
 * A suggestion for the first unknown key, else for the first invalid choice;
 * empty if there is none.
 */
function suggestionFor(
  schema: z.ZodType,
  issues: z.core.$ZodIssue[],
  written: unknown
): string {
  const issue = issues.find(({ code }) => code === 'unrecognized_keys');
  if (issue?.code === 'unrecognized_keys')
    return didYouMean(issue.keys[0] ?? '', keysAt(schema, issue.path));
  const choice = issues.find(({ code }) => code === 'invalid_value');
  if (choice?.code !== 'invalid_value') return '';
  const word = valueAt(written, choice.path);
  return typeof word === 'string'
    ? didYouMean(word, choice.values.map(String))
    : '';
}

/** The keys of the schema at a path. */
function keysAt(schema: unknown, path: PropertyKey[]): string[] {
  if (
    schema instanceof z.ZodPrefault ||
    schema instanceof z.ZodOptional ||
    schema instanceof z.ZodDefault
  )
    return keysAt(schema.unwrap(), path);
  // The last option of a union is the most detailed one.
  if (schema instanceof z.ZodUnion) return keysAt(schema.options.at(-1), path);
  const [name, ...rest] = path;
  if (schema instanceof z.ZodRecord) return keysAt(schema.valueType, rest);
  if (!(schema instanceof z.ZodObject)) return [];
  return name === undefined
    ? Object.keys(schema.shape)
    : keysAt(schema.shape[String(name)], rest);
}
