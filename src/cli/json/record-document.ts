import { z } from 'zod';

const orphan = z.strictObject({ record: z.string(), workspace: z.string() });

/** `record`. */
export const recordDocument = z.strictObject({
  workspace: z.string(),
  record: z.string(),
  bytes: z.number(),
  /** Records whose workspace is gone. */
  orphans: z.array(orphan)
});
export type RecordDocument = z.output<typeof recordDocument>;

/** `clean --orphans`. */
export const orphansDocument = z.strictObject({
  dry_run: z.boolean(),
  orphans: z.array(orphan.extend({ bytes: z.number() })),
  bytes: z.number()
});
export type OrphansDocument = z.output<typeof orphansDocument>;
