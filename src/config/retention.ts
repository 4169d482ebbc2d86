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
        .describe('Agents that ended so many days ago, or more, are removed.'),
      keep: z
        .number()
        .int()
        .min(0)
        .optional()
        .describe(
          'So many of those that ended last stay in any case. Alone: all others go.'
        ),
      megabytes: z
        .number()
        .min(0)
        .optional()
        .describe(
          'The oldest are removed until the folders of all agents hold no more.'
        ),
      automatic: z
        .boolean()
        .default(defaults.automatic)
        .describe(
          '`true`: servers do so by themselves, at their start and every hour.'
        )
    })
    .describe('What `troupe clean` removes when no flag says so.');
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
