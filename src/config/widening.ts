import { councilPathOf } from './council.ts';
import { defaultConfig } from './defaults.ts';
import { isObject, valueAt } from './overrides.ts';
import { pluginFiles, staysInside, templateFiles } from './workspace-files.ts';

/** A request of a workspace that takes effect only with the user's trust. */
export interface Widening {
  /** Its short name: `engines.claude.command`, `agents/planner.md`. */
  setting: string;
  /** What trust would allow, for a person. Has no values of variables. */
  allows: string;
  /** Its path in the configuration; undefined for a file. */
  path?: string[];
  /** Files on which it depends, other than the configuration itself. */
  files: string[];
}

/** In seconds; 0 means no limit. */
export interface EngineTimes {
  timeoutSeconds: number;
  idleTimeoutSeconds: number;
  retrySeconds: number;
}

interface WideningContext {
  workspace: string;
  /** The configuration file, the base of relative paths of plugins. */
  file: string;
  /** The default time limits of an engine. */
  timesOf: (engine: string) => EngineTimes;
}

/**
 * The settings of a workspace's configuration that could run code, redirect a
 * key or widen what agents may do. All other settings need no trust.
 */
export function wideningsIn(
  written: unknown,
  context: WideningContext
): Widening[] {
  if (!isObject(written)) return [];
  return [
    ...pluginWidening(written.plugins, context),
    ...engineWidenings(written.engines, context),
    ...limitWidenings(written),
    ...retentionWidening(written.retention),
    ...rolesWidening(written.rolesDirectory, context),
    ...squadWidenings(written.squad, context),
    ...councilWidening(written.council, context),
    ...httpWidenings(written.http),
    ...onEndWidening(written.onEnd),
    ...asksWidenings(written.asks)
  ];
}

const longestName = 60;

/**
 * A name from the workspace as a model may read it: a clone must not be able
 * to put sentences into the output of a server.
 */
export function plainName(name: string): string {
  return name.replace(/[^\w./@-]+/g, '_').slice(0, longestName);
}

function widening(
  setting: string,
  allows: string,
  files: string[] = []
): Widening {
  return { setting, path: setting.split('.'), allows, files };
}

function listed(names: unknown[]): string {
  return names.map(String).join(', ');
}

function pluginWidening(
  plugins: unknown,
  context: WideningContext
): Widening[] {
  if (!Array.isArray(plugins) || plugins.length === 0) return [];
  const names = plugins.filter((plugin) => typeof plugin === 'string');
  const allows = `runs ${listed(names) || 'code'} as a part of troupe`;
  const files = names.flatMap((name) => pluginFiles(name, context));
  return [widening('plugins', allows, files)];
}

/** Merely naming an engine needs no trust. */
function engineWidenings(
  engines: unknown,
  { timesOf }: WideningContext
): Widening[] {
  if (!isObject(engines)) return [];
  return Object.entries(engines).flatMap(([engine, settings]) => {
    if (!isObject(settings)) return [];
    const times = timesOf(engine);
    return Object.entries(settings).flatMap(([key, value]) => {
      const allows =
        engineWords[key]?.(value, engine) ?? longer(key, value, engine, times);
      if (allows === undefined) return [];
      const setting = `engines.${plainName(engine)}.${plainName(key)}`;
      return [{ setting, path: ['engines', engine, key], allows, files: [] }];
    });
  });
}

const engineWords: Record<
  string,
  (value: unknown, engine: string) => string | undefined
> = {
  command: (value, engine) => `starts ${value} for ${engine}`,
  args: (value, engine) =>
    isEmpty(value)
      ? undefined
      : `starts ${engine} with the arguments ${JSON.stringify(value)}`,
  env: (value, engine) =>
    isEmpty(value) || !isObject(value)
      ? undefined
      : `sets ${listed(Object.keys(value))} for ${engine}`,
  passEnv: (value, engine) =>
    isEmpty(value) || !Array.isArray(value)
      ? undefined
      : `hands ${listed(value)} on to ${engine}`,
  baseUrl: (value, engine) =>
    `sends the prompts and the key of ${engine} to ${hostOf(value)}`
};

function isEmpty(value: unknown): boolean {
  return Object.keys(Object(value)).length === 0;
}

function hostOf(address: unknown): string {
  try {
    return new URL(String(address)).host;
  } catch {
    return 'another host';
  }
}

function longer(
  key: string,
  value: unknown,
  engine: string,
  times: EngineTimes
): string | undefined {
  const usual = Object.entries(times).find(([name]) => name === key)?.[1];
  if (usual === undefined || typeof value !== 'number') return undefined;
  const limitOf = (seconds: number) =>
    seconds === 0 ? Number.POSITIVE_INFINITY : seconds;
  if (limitOf(value) <= limitOf(usual)) return undefined;
  const raised = value === 0 ? 'lifts it' : `raises it to ${value}`;
  return `${raised} for ${engine}; the default is ${usual}`;
}

/** Limits whose values are numbers. */
const limits = [
  'maxConcurrent',
  'maxConcurrentApi',
  'maxSpawnsPerMinute',
  'maxDepth',
  'outputLimitMegabytes',
  'diskLimitMegabytes',
  'squad.processTimeoutMs',
  'orchestrator.readyTimeoutSeconds',
  'http.sessions',
  'http.idleMinutes',
  'http.bodyMegabytes',
  'iac.entries',
  'iac.megabytes',
  'journal.megabytes'
];

/** Limits for which 0 means that there is none. */
const lifted = ['maxSpawnsPerMinute', 'diskLimitMegabytes'];

const levels = ['read', 'write', 'full'];

/** Limits above their default. */
function limitWidenings(written: Record<string, unknown>): Widening[] {
  const found = [...limits, 'maxAccess'].filter(
    (name) => valueAt(written, name.split('.')) !== undefined
  );
  if (found.length === 0) return [];
  const defaults = defaultConfig();
  return found.flatMap((setting) => {
    const path = setting.split('.');
    const usual = valueAt(defaults, path);
    const value = valueAt(written, path);
    if (!(rankOf(setting, value) > rankOf(setting, usual))) return [];
    const raised =
      value === 0 ? 'lifts the limit' : `raises it to ${String(value)}`;
    return [widening(setting, `${raised}; the default is ${String(usual)}`)];
  });
}

/** The limits that are higher in `next` than in `now`. */
export function raisedLimits(next: unknown, now: unknown): string[] {
  return [...limits, 'maxAccess'].filter((setting) => {
    const path = setting.split('.');
    const rankIn = (config: unknown) => rankOf(setting, valueAt(config, path));
    return rankIn(next) > rankIn(now);
  });
}

/** NaN for an invalid value, which the schema rejects. */
function rankOf(setting: string, value: unknown): number {
  if (setting === 'maxAccess') return levels.indexOf(String(value));
  if (typeof value !== 'number') return Number.NaN;
  return value === 0 && lifted.includes(setting)
    ? Number.POSITIVE_INFINITY
    : value;
}

function retentionWidening(retention: unknown): Widening[] {
  if (!isObject(retention) || retention.automatic !== true) return [];
  const allows = 'removes agents that have ended, without asking';
  return [widening('retention.automatic', allows)];
}

function rolesWidening(
  directory: unknown,
  { workspace }: WideningContext
): Widening[] {
  if (typeof directory !== 'string' || staysInside(workspace, directory))
    return [];
  const allows = `takes roles from ${directory}, outside the workspace`;
  return [widening('rolesDirectory', allows)];
}

function squadWidenings(
  squad: unknown,
  { workspace }: WideningContext
): Widening[] {
  if (!isObject(squad)) return [];
  const { engineCommand: program, templateVariables: names } = squad;
  const templates = [
    ['runTemplatePath', 'starts members of squads by the command in'],
    ['createChatTemplatePath', 'makes chats by the command in']
  ].flatMap(([key = '', words = '']) => {
    const file = squad[key];
    if (typeof file !== 'string') return [];
    const files = templateFiles(file, workspace);
    return [widening(`squad.${key}`, `${words} ${file}`, files)];
  });
  const programs =
    typeof program === 'string'
      ? [widening('squad.engineCommand', `starts ${program} for squads`)]
      : [];
  if (!Array.isArray(names) || names.length === 0)
    return [...programs, ...templates];
  const allows = `hands ${listed(names)} on to the programs of templates`;
  return [
    ...programs,
    ...templates,
    widening('squad.templateVariables', allows)
  ];
}

function councilWidening(
  council: unknown,
  { workspace }: WideningContext
): Widening[] {
  if (!isObject(council) || typeof council.statePath !== 'string') return [];
  const { statePath } = council;
  const file = councilPathOf({ scope: 'user', statePath }, workspace);
  if (staysInside(workspace, file)) return [];
  const allows = `keeps the council in ${statePath}, outside the workspace`;
  return [widening('council.statePath', allows)];
}

function httpWidenings(http: unknown): Widening[] {
  if (!isObject(http)) return [];
  return [
    ['allowedHosts', 'answers requests for the hosts'],
    ['allowedOrigins', 'answers pages of']
  ].flatMap(([key = '', words = '']) => {
    const names = http[key];
    if (!Array.isArray(names) || names.length === 0) return [];
    return [widening(`http.${key}`, `${words} ${listed(names)}`)];
  });
}

function onEndWidening(onEnd: unknown): Widening[] {
  if (!isObject(onEnd) || !Array.isArray(onEnd.command)) return [];
  const words = onEnd.command.map((word) => JSON.stringify(word)).join(' ');
  return [widening('onEnd.command', `runs ${words} at the end of each agent`)];
}

function asksWidenings(asks: unknown): Widening[] {
  if (!isObject(asks)) return [];
  const { allow, parkAfter } = asks;
  const found: Widening[] = [];
  if (Array.isArray(allow) && allow.length > 0) {
    const rules = allow.map((rule) => JSON.stringify(rule)).join(', ');
    const what = `allows what matches ${rules}, without asking`;
    found.push(widening('asks.allow', what));
  }
  const usual = defaultConfig().asks.parkAfter;
  // An early end costs another start of each agent that asks.
  if (typeof parkAfter === 'number' && parkAfter > 0 && parkAfter < usual) {
    const what = `ends agents that wait for an answer for ${parkAfter} s, and starts them again later`;
    found.push(widening('asks.parkAfter', what));
  }
  return found;
}
