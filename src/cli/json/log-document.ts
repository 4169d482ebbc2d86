import { z } from 'zod';

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

const ofAll = {
  writer: z.string(),
  n: z.number(),
  prev: hash,
  at: z.iso.datetime(),
  agent_id: z.string()
};

/** Short ones stand in the record, long ones in a file. */
const words = z.union([
  z.strictObject({ chars: z.number(), text: z.string() }),
  z.strictObject({ chars: z.number(), sha256: hash, path: z.string() })
]);

/** `log`: one of these a line. */
export const logLine = z.discriminatedUnion('type', [
  z.strictObject({
    ...ofAll,
    type: z.literal('spawned'),
    engine: z.string(),
    label: z.string(),
    kind: z.enum(['cli', 'api']),
    model: z.string().nullable(),
    tools: z.string().nullable(),
    access: z.enum(['read', 'write', 'full']),
    enforcement: z.enum(['enforced', 'asked']),
    cwd: z.string(),
    task: z.string(),
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
    ...ofAll,
    type: z.literal('finished'),
    status: z.enum([
      'completed',
      'failed',
      'timeout',
      'canceled',
      'interrupted'
    ]),
    error: z.string().nullable(),
    whole_error: z
      .strictObject({ chars: z.number(), sha256: hash, path: z.string() })
      .optional()
      .describe(
        'of an error that was cut: its length, and the file that has it all'
      ),
    error_code: z.string().nullable(),
    model: z.string().nullable(),
    exit_code: z.number().nullable(),
    cost_usd: z.number().nullable(),
    usage: z
      .strictObject({
        prompt_tokens: z.number(),
        completion_tokens: z.number(),
        total_tokens: z.number()
      })
      .nullable(),
    duration_ms: z.number(),
    completed_at: z.iso.datetime(),
    result: words
  }),
  z.strictObject({
    ...ofAll,
    type: z.literal('cancel_requested'),
    reason: z.string().nullable()
  }),
  z.strictObject({
    ...ofAll,
    type: z.literal('cleaned'),
    bytes: z.number(),
    completed_at: z.iso.datetime().nullable()
  })
]);
