import { z } from 'zod';

export const agentId = z.string().min(1).max(64);

/** The caller of task_enqueue may choose the id, which must be one line. */
export const taskId = z
  .string()
  .min(1)
  .max(200)
  // Not a pattern: clients that ignore the Unicode flag would misread it.
  .refine((id) => !/\p{Cc}/u.test(id), 'holds a control character');

export const model = z.string().min(1).max(200).optional();

export const systemPrompt = z.string().min(1).max(100_000).optional();

/** The time limit of an agent. */
export const timeout = z
  .number()
  .positive()
  .max(604_800)
  .optional()
  .describe('Seconds');

/** Who answers what an agent asks for beyond its access. */
export const ask = z.enum(['coordinator', 'person', 'none']).optional();

export const askTimeout = z.number().min(1).max(604_800).optional();
