import { z } from 'zod';
import { lazy } from '../core/lazy.ts';
import type { Policy } from '../core/retention/select.ts';
import { defaultConfig } from './defaults.ts';

/** The configuration's `retention`. */
export const retentionSchema = lazy(() => {
  const defaults = defaultConfig().retention;
  return z
    .strictObject({
      days: z
        .number()
        .min(0)
        .optional()
        .describe(
          'Agents that ended this many days ago or earlier are removed.'
        ),
      keep: z
        .number()
        .int()
        .min(0)
        .optional()
        .describe(
          'This many of the agents that ended last are always kept. Alone: all others are removed.'
        ),
      megabytes: z
        .number()
        .min(0)
        .optional()
        .describe(
          'The oldest are removed until the folders of all agents are no larger.'
        ),
      automatic: z
        .boolean()
        .default(defaults.automatic)
        .describe('`true`: servers do this at their start and every hour.')
    })
    .describe('What `troupe clean` removes without flags.');
});

const dayMs = 86_400_000;

/** Undefined if the configuration sets no limit. */
export function policyOf({
  days,
  keep,
  megabytes
}: z.output<ReturnType<typeof retentionSchema>>): Policy | undefined {
  if (days === undefined && keep === undefined && megabytes === undefined)
    return undefined;
  return {
    ...(days === undefined ? {} : { olderThanMs: days * dayMs }),
    ...(keep === undefined ? {} : { keep }),
    ...(megabytes === undefined
      ? {}
      : { maximumBytes: megabytes * 1024 * 1024 })
  };
}
