import { statePathVariable } from './council.ts';
import { rolesVariable, squadVariables } from './squads.ts';

/** Flags as they were written; the schema validates them. */
export interface Flags {
  workspace?: string | undefined;
  config?: string | undefined;
  toolsets?: string | undefined;
  engines?: string | undefined;
  onDisconnect?: string | undefined;
  maxAccess?: string | undefined;
  strict?: boolean | undefined;
  /** Grants every request of the workspace's own files. */
  trust?: boolean | undefined;
  /** The worker that the server belongs to. */
  agentId?: string | undefined;
  agentsDirectoryPath?: string | undefined;
  /** True if squads may be served: variables with plain names apply then. */
  forSquads?: boolean | undefined;
  squad?: { [Key in keyof typeof squadVariables]?: string | undefined };
}

/** A setting that does not come from the file. */
export interface Override {
  /** Its path in the configuration. */
  path: string[];
  value: unknown;
  /** The flag or variable, as the user writes it. */
  source: string;
}

type Environment = Record<string, string | undefined>;

/** The settings of flags and environment; flags take precedence. */
export function overridesOf(
  flags: Flags,
  environment: Environment,
  written: Record<string, unknown>
): Override[] {
  const own = ownOverrides(flags, environment);
  const { toolsets } = overridden(written, own);
  const hasLiveServer = flags.forSquads && serves(toolsets, 'squad');
  // Other programs use such plain names for their own variables.
  return [...own, ...squadOverrides(flags, hasLiveServer ? environment : {})];
}

function ownOverrides(flags: Flags, environment: Environment): Override[] {
  const one = reader(environment);
  return [
    ...one('toolsets', flags.toolsets, 'TROUPE_TOOLSETS', listOf),
    ...one('onDisconnect', flags.onDisconnect, 'TROUPE_ON_DISCONNECT'),
    ...one('maxAccess', flags.maxAccess, 'TROUPE_MAX_ACCESS'),
    ...one('maxConcurrent', undefined, 'TROUPE_MAX_CONCURRENT', numberOf),
    ...one(
      'maxSpawnsPerMinute',
      undefined,
      'TROUPE_MAX_SPAWNS_PER_MINUTE',
      numberOf
    ),
    ...one('maxDepth', undefined, 'TROUPE_MAX_DEPTH', numberOf),
    ...one('council.statePath', undefined, statePathVariable)
  ];
}

function squadOverrides(flags: Flags, environment: Environment): Override[] {
  const one = reader(environment);
  return [
    ...one('rolesDirectory', flags.agentsDirectoryPath, rolesVariable),
    ...Object.entries(squadVariables).flatMap(([key, variable]) =>
      one(
        `squad.${key}`,
        Object.entries(flags.squad ?? {}).find(([name]) => name === key)?.[1],
        variable,
        key.endsWith('Ms') ? numberOf : undefined
      )
    )
  ];
}

function reader(environment: Environment) {
  return (
    path: string,
    flag: string | undefined,
    variable: string,
    read: (text: string) => unknown = (text) => text
  ): Override[] => {
    // An empty flag or variable counts as absent.
    const text = flag || environment[variable] || undefined;
    const value = text === undefined ? undefined : read(text);
    const source = flag ? flagOf(variable) : variable;
    return value === undefined
      ? []
      : [{ path: path.split('.'), value, source }];
  };
}

/** The toolsets that are served by default. */
export const usualToolsets = ['spawn', 'runs', 'squad', 'council'];

/** Whether a toolset is served, by choice or by default. */
export function serves(toolsets: unknown, name: string): boolean {
  if (!Array.isArray(toolsets)) return usualToolsets.includes(name);
  // The tools of a worker are only served by its own server.
  return (
    toolsets.includes(name) || (toolsets.includes('all') && name !== 'worker')
  );
}

/** A configuration with overrides applied. */
export function overridden(
  written: Record<string, unknown>,
  overrides: Override[]
): Record<string, unknown> {
  const merged = { ...written };
  for (const { path, value } of overrides) {
    const [first = '', second] = path;
    const inner = merged[first];
    if (second === undefined) merged[first] = value;
    else if (inner === undefined || isObject(inner))
      merged[first] = { ...inner, [second]: value };
  }
  return merged;
}

/** The flag or variable that set the value at a path, if any. */
export function sourceOf(
  path: PropertyKey[],
  overrides: Override[]
): string | undefined {
  return overrides.find(({ path: prefix }) =>
    prefix.every((part, index) => part === path[index])
  )?.source;
}

/** `STATE_MODE`, `TROUPE_MAX_ACCESS` → `--state-mode`, `--max-access` */
export function flagOf(variable: string): string {
  const name = variable.replace(/^TROUPE_/, '').toLowerCase();
  return `--${name.replaceAll('_', '-')}`;
}

/** The value at a path, or undefined. */
export function valueAt(whole: unknown, path: PropertyKey[]): unknown {
  return path.reduce<unknown>(
    (value, name) =>
      typeof value === 'object' && value !== null
        ? Reflect.get(value, name)
        : undefined,
    whole
  );
}

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The names in a comma-separated list; undefined if there are none. */
export function listOf(text: string | undefined): string[] | undefined {
  const names = text
    ?.split(',')
    .map((name) => name.trim())
    .filter(Boolean);
  return names && names.length > 0 ? names : undefined;
}

/** Keeps other text, which the schema rejects. `Number` reads blanks as 0. */
function numberOf(text: string): number | string {
  const number = text.trim() === '' ? Number.NaN : Number(text);
  return Number.isFinite(number) ? number : text;
}
