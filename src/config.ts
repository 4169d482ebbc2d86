import { realpathSync, statSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, resolve } from 'node:path';
import type { z } from 'zod';
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
import { configSchema, type FileConfig } from './config-schema.ts';
import { suggestionFor } from './config-suggestion.ts';
import { HostError } from './core/errors.ts';
import { checkHomeOutside, troupeHome } from './core/paths/troupe-home.ts';
import type { CouncilDoor } from './council-config.ts';
import type { EngineSettings } from './engine-config.ts';

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
  const home = troupeHome(environment);
  checkHomeOutside(workspace, home, environment);
  const { file, value } = await readConfigFile(workspace, flags.config);
  // An empty file is no object, and no fault.
  const written = value ?? {};
  const settings = isObject(written) ? written : {};
  const overrides = overridesOf(flags, environment, settings);
  const merged = isObject(written) ? overridden(written, overrides) : written;
  const parsed = configSchema.safeParse(merged);
  if (!parsed.success) throw invalid(file, overrides, parsed.error, merged);
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
    home,
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
  const path = resolve(asked ?? currentDirectory());
  const there = statSync(path, { throwIfNoEntry: false });
  if (!there?.isDirectory())
    throw new HostError(
      'config_invalid',
      `The workspace ${path} ${there ? 'is no directory' : 'does not exist'}.`,
      'Give an existing directory with --workspace.'
    );
  return realpathSync(path);
}

function currentDirectory(): string {
  try {
    return process.cwd();
  } catch {
    throw new HostError(
      'config_invalid',
      'The current directory is gone.',
      'Change into one that is there, or give --workspace with a whole path.'
    );
  }
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

/** True where the working directory says nothing about the project. */
export function isNowhere(path: string): boolean {
  const real = realPathOf(path);
  return real === resolve('/') || real === realPathOf(homedir());
}

/** As it is written, where nothing is there. */
function realPathOf(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    return resolve(path);
  }
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
