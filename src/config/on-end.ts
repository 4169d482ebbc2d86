import { z } from 'zod';

/** The configuration's `onEnd`. */
export const onEndSchema = z
  .strictObject({
    command: z
      .array(z.string())
      .min(1)
      .refine(([program = '']) => program.trim() !== '', {
        error: 'names no program'
      })
      .optional()
      .describe(
        'A program and its arguments, run once for each end without a shell; it reads JSON on stdin and has 10 seconds.'
      ),
    bell: z
      .boolean()
      .default(false)
      .describe(
        '`true` rings the bell of the terminals in which `troupe watch`, `wait` or `run` follows the agent.'
      ),
    osc: z
      .union([z.literal(9), z.literal(777)])
      .optional()
      .describe(
        'The sequence that shows a notification in these terminals: `9` (such as iTerm2, kitty, WezTerm) or `777` (such as Ghostty, foot).'
      ),
    minSeconds: z
      .number()
      .min(0)
      .max(604_800)
      .default(0)
      .describe('Shorter runs are not reported.')
  })
  .describe('How an ended agent is reported to you.');

export type OnEnd = z.output<typeof onEndSchema>;
