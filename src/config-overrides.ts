import { statePathVariable } from './council-config.ts';
import { rolesVariable, squadVariables } from './squad-config.ts';

/** Flags as they were written: the schema judges them. */
export interface Flags {
  workspace?: string | undefined;
  config?: string | undefined;
  toolsets?: string | undefined;
  engines?: string | undefined;
  onDisconnect?: string | undefined;
  maxAccess?: string | undefined;
  strict?: boolean | undefined;
  /** What the workspace's own files ask for counts without being asked about. */
  trust?: boolean | undefined;
  /** The worker that a server serves. */
  agentId?: string | undefined;
  agentsDirectoryPath?: string | undefined;
  /** Squads may be served: variables with plain names count where they are. */
  forSquads?: boolean | undefined;
  squad?: { [Key in keyof typeof squadVariables]?: string | undefined };
}

/** A setting that does not come from the file. */
export interface Override {
  /** Where it stands in the configuration. */
  path: string[];
  value: unknown;
  /** The flag or variable, as its user knows it. */
  source: string;
}

type Environment = Record<string, string | undefined>;

/** What flags and environment settle, flags first. */
export function overridesOf(
  flags: Flags,
  environment: Environment,
  written: Record<string, unknown>
): Override[] {
  const own = ownOverrides(flags, environment);
  const { toolsets } = overridden(written, own);
  const isServed = flags.forSquads && serves(toolsets, 'squad');
  // Others give such names to their own variables.
  return [...own, ...squadOverrides(flags, isServed ? environment : {})];
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
    // What is empty says nothing.
    const text = flag || environment[variable] || undefined;
    const value = text === undefined ? undefined : read(text);
    const source = flag ? flagOf(variable) : variable;
    return value === undefined
      ? []
      : [{ path: path.split('.'), value, source }];
  };
}

/** Served without being asked for. */
export const usualToolsets = ['spawn', 'runs', 'squad', 'council'];

/** Whether a group of tools is served, by a choice or without one. */
export function serves(toolsets: unknown, name: string): boolean {
  if (!Array.isArray(toolsets)) return usualToolsets.includes(name);
  // A worker's tools are for a worker alone.
  return (
    toolsets.includes(name) || (toolsets.includes('all') && name !== 'worker')
  );
}

/** A configuration with overrides in the place of what it says. */
export function overridden(
  written: Record<string, unknown>,
  overrides: Override[]
): Record<string, unknown> {
  const settled = { ...written };
  for (const { path, value } of overrides) {
    const [first = '', second] = path;
    const inner = settled[first];
    if (second === undefined) settled[first] = value;
    else if (inner === undefined || isObject(inner))
      settled[first] = { ...inner, [second]: value };
  }
  return settled;
}

/** What settled the value at a path, unless the file did. */
export function sourceOf(
  path: PropertyKey[],
  overrides: Override[]
): string | undefined {
  return overrides.find(({ path: settled }) =>
    settled.every((part, index) => part === path[index])
  )?.source;
}

/** `STATE_MODE`, `TROUPE_MAX_ACCESS` → `--state-mode`, `--max-access` */
export function flagOf(variable: string): string {
  const name = variable.replace(/^TROUPE_/, '').toLowerCase();
  return `--${name.replaceAll('_', '-')}`;
}

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Undefined when nothing is named. */
export function listOf(text: string | undefined): string[] | undefined {
  const names = text
    ?.split(',')
    .map((name) => name.trim())
    .filter(Boolean);
  return names && names.length > 0 ? names : undefined;
}

/** Not a number stays text, so that the schema names it. Blank is 0 to JS. */
function numberOf(text: string): number | string {
  const number = text.trim() === '' ? Number.NaN : Number(text);
  return Number.isFinite(number) ? number : text;
}
