import { z } from 'zod';
import { holds } from '../../core/retention/select.ts';
import { endedStatus, usage } from './agent-documents.ts';

const hash = z.string().regex(/^[0-9a-f]{64}$/);

/** `log --verify`. */
export const verifyDocument = z.strictObject({
  ok: z.boolean(),
  journal: z.string(),
  records: z.number(),
  chains: z.number(),
  torn: z.number(),
  first_broken_file: z.string().nullable(),
  first_broken_line: z.number().nullable(),
  faults: z.array(
    z.strictObject({ file: z.string(), line: z.number(), problem: z.string() })
  )
});
export type VerifyDocument = z.output<typeof verifyDocument>;

/** `log --head`. */
export const headsDocument = z.strictObject({
  journal: z.string(),
  heads: z.array(z.strictObject({ writer: z.string(), n: z.number(), hash }))
});
export type HeadsDocument = z.output<typeof headsDocument>;

const everyRecord = {
  writer: z.string(),
  n: z.number(),
  prev: hash,
  at: z.iso.datetime(),
  agent_id: z.string()
};

const textInFile = z.strictObject({
  chars: z.number(),
  sha256: hash,
  path: z.string()
});

/** A short text is in the journal itself, a long one in a file. */
const words = z.union([
  z.strictObject({ chars: z.number(), text: z.string() }),
  textInFile
]);

/** `log`: one object per line. */
export const logLine = z.discriminatedUnion('type', [
  z.strictObject({
    ...everyRecord,
    type: z.literal('asked'),
    ask_id: z.string(),
    kind: z.enum(['permission', 'question']),
    tool: z.string(),
    subject: z.string(),
    asked_at: z.iso.datetime()
  }),
  z.strictObject({
    ...everyRecord,
    type: z.literal('answered'),
    ask_id: z.string(),
    by: z.string(),
    who: z.string().optional(),
    decision: z.enum(['allow', 'deny']).nullable(),
    text: z.string().nullable(),
    waited_ms: z.number()
  }),
  z.strictObject({
    ...everyRecord,
    type: z.literal('spawned'),
    engine: z.string(),
    label: z.string(),
    kind: z.enum(['cli', 'api']),
    model: z.string().nullable(),
    tools: z.string().nullable(),
    access: z.enum(['read', 'write', 'full']),
    enforcement: z.enum(['enforced', 'asked']),
    cwd: z.string(),
    command: z.string().optional().describe('its program; none for an API'),
    template: z
      .string()
      .optional()
      .describe('the file that its arguments come from'),
    task: z.string(),
    client: z
      .string()
      .optional()
      .describe('the MCP client that asked; none for the command line'),
    parent: z.string().nullable(),
    continues: z.string().nullable(),
    squad: z
      .strictObject({
        squadId: z.string(),
        memberId: z.string(),
        roleId: z.string()
      })
      .optional(),
    created_at: z.iso.datetime(),
    prompt: words
  }),
  z.strictObject({
    ...everyRecord,
    type: z.literal('finished'),
    status: endedStatus,
    error: z.string().nullable(),
    whole_error: textInFile
      .optional()
      .describe(
        'of an error that was cut: its length, and the file that has it all'
      ),
    error_code: z.string().nullable(),
    model: z.string().nullable(),
    exit_code: z.number().nullable(),
    cost_usd: z.number().nullable(),
    usage: usage.nullable(),
    duration_ms: z.number(),
    completed_at: z.iso.datetime(),
    result: words
  }),
  z.strictObject({
    ...everyRecord,
    type: z.literal('cancel_requested'),
    reason: z.string().nullable(),
    who: z.string().optional()
  }),
  z.strictObject({
    ...everyRecord,
    type: z.literal('acted'),
    action: z.string(),
    what: z.string(),
    who: z.string()
  }),
  z.strictObject({
    ...everyRecord,
    type: z.literal('cleaned'),
    bytes: z.number(),
    completed_at: z.iso.datetime().nullable()
  })
]);

const share = z.strictObject({ count: z.number(), bytes: z.number() });

/** `clean` without ids and limits. */
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

/** `clean` that removes, or shows what it would remove. */
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
