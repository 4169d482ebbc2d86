import { z } from 'zod';

const file = {
  file: z.string(),
  state: z.enum(['ours', 'foreign', 'absent']).nullable(),
  change: z.enum(['add', 'update', 'remove']).nullable(),
  problem: z.string().nullable(),
  written: z.boolean()
};

/** `init`. */
export const initDocument = z.strictObject({
  workspace: z.string(),
  clients: z.array(
    z.strictObject({
      name: z.string(),
      label: z.string(),
      found: z.string().nullable(),
      ...file,
      check: z
        .strictObject({
          ok: z.boolean(),
          milliseconds: z.number().nullable(),
          tools: z.array(z.string()),
          problem: z.string().nullable(),
          next: z.string().nullable()
        })
        .nullable()
    })
  ),
  access: z.strictObject(file).nullable(),
  first_task: z
    .strictObject({
      engine: z.string(),
      agent_id: z.string().nullable(),
      status: z.string().nullable(),
      problem: z.string().nullable(),
      entry: z.string().nullable()
    })
    .nullable()
});
