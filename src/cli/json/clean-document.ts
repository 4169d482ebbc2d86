import { z } from 'zod';
import { holds } from '../../core/retention/resident.ts';

const share = z.strictObject({ count: z.number(), bytes: z.number() });

/** `clean` without a word of what may go. */
export const diskDocument = z.strictObject({
  at_work: share,
  read: share,
  unread: share,
  held: share,
  agents: share,
  diffs: share,
  workers: share,
  disk_limit_bytes: z.number().nullable()
});
export type DiskDocument = z.output<typeof diskDocument>;

/** `clean` that removes, or shows what it would. */
export const cleanDocument = z.strictObject({
  dry_run: z.boolean(),
  removed: z.array(
    z.strictObject({
      agent_id: z.string(),
      agent_type: z.string(),
      completed_at: z.iso.datetime().nullable(),
      bytes: z.number(),
      read: z.boolean()
    })
  ),
  bytes: z.number(),
  bytes_left: z.number(),
  workers: z.array(
    z.strictObject({
      agent_id: z.string(),
      name: z.string(),
      bytes: z.number()
    })
  ),
  leftovers: z.strictObject({
    squads: z.number(),
    sessions: z.number(),
    marks: z.number(),
    drafts: z.number(),
    trash: z.number()
  }),
  stay: z.record(z.enum([...holds, 'retained']), z.number()),
  held: z.array(
    z.strictObject({
      agent_id: z.string(),
      why: z.enum(['worktree', 'foreign']),
      about: z.string().nullable()
    })
  ),
  problems: z.array(z.string())
});
