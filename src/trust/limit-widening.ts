import { isObject } from '../config-overrides.ts';
import { configSchema } from '../config-schema.ts';
import type { Widening } from './asked.ts';

/** Limits that are numbers. */
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

/** Limits that 0 lifts. */
const lifted = ['maxSpawnsPerMinute', 'diskLimitMegabytes'];

const levels = ['read', 'write', 'full'];

/** Settings above their default. */
export function limitWidenings(written: Record<string, unknown>): Widening[] {
  const found = [...limits, 'maxAccess'].filter(
    (name) => valueAt(written, name.split('.')) !== undefined
  );
  if (found.length === 0) return [];
  const defaults = configSchema.parse({});
  return found.flatMap((setting) => {
    const path = setting.split('.');
    const usual = valueAt(defaults, path);
    const value = valueAt(written, path);
    if (!(rankOf(setting, value) > rankOf(setting, usual))) return [];
    const raised =
      value === 0 ? 'lifts the limit' : `raises it to ${String(value)}`;
    const allows = `${raised}; the default is ${String(usual)}`;
    return [{ setting, path, allows, files: [] }];
  });
}

/** NaN for what is no value of the setting: the schema refuses it. */
function rankOf(setting: string, value: unknown): number {
  if (setting === 'maxAccess') return levels.indexOf(String(value));
  if (typeof value !== 'number') return Number.NaN;
  return value === 0 && lifted.includes(setting)
    ? Number.POSITIVE_INFINITY
    : value;
}

function valueAt(whole: unknown, path: string[]): unknown {
  return path.reduce<unknown>(
    (value, name) => (isObject(value) ? value[name] : undefined),
    whole
  );
}
