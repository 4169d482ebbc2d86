import { isObject } from '../config-overrides.ts';
import { listed, plainName, type Widening } from './asked.ts';

/** Seconds; 0 for no limit. */
export interface EngineTimes {
  timeoutSeconds: number;
  idleTimeoutSeconds: number;
  retrySeconds: number;
}

export type TimesOf = (engine: string) => EngineTimes;

/** What settings of engines ask for. A name alone asks for nothing. */
export function engineWidenings(
  engines: unknown,
  timesOf: TimesOf
): Widening[] {
  if (!isObject(engines)) return [];
  return Object.entries(engines).flatMap(([engine, settings]) => {
    if (!isObject(settings)) return [];
    const times = timesOf(engine);
    return Object.entries(settings).flatMap(([key, value]) => {
      const allows =
        words[key]?.(value, engine) ?? longer(key, value, engine, times);
      if (allows === undefined) return [];
      const setting = `engines.${plainName(engine)}.${plainName(key)}`;
      return [{ setting, path: ['engines', engine, key], allows, files: [] }];
    });
  });
}

type Words = (value: unknown, engine: string) => string | undefined;

const words: Record<string, Words> = {
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
  if (limitOf(value) <= limitOf(usual)) return undefined;
  const raised = value === 0 ? 'lifts it' : `raises it to ${value}`;
  return `${raised} for ${engine}; the default is ${usual}`;
}

/** 0 stands for no limit. */
function limitOf(seconds: number): number {
  return seconds === 0 ? Number.POSITIVE_INFINITY : seconds;
}
