import { z } from 'zod';
import { HostError } from '../../../core/errors.ts';
import type { WorkerDesk } from '../../../core/orchestrator/worker-desk.ts';
import type { Facts } from '../../../core/runs/fit.ts';
import { limitsOf } from '../clients.ts';
import { commandAnswer } from '../command-answer.ts';
import { defineTool, type Tool } from '../define-tool.ts';
import { looking } from './agent-input.ts';

export interface WorkerTools {
  agentId: string;
  desk: WorkerDesk;
  /** Puts a payload into a file that the worker can read; gives its path. */
  keepPayload: (text: string) => string;
  /** The absolute path of a payload that has a file. */
  pathOf: (file: string) => string;
}

const acting = { ...looking, readOnlyHint: false, idempotentHint: false };

const own = z
  .string()
  .max(64)
  .optional()
  .describe('Your own id; may be left out');

/** The two tools of one worker. */
export function workerTools(worker: WorkerTools): Tool[] {
  const { agentId, desk } = worker;
  const check = (asked: string | undefined) => {
    if (asked === undefined || asked === agentId) return;
    throw new HostError(
      'foreign_agent',
      `This server serves worker ${agentId} alone, not ${asked}.`,
      'Leave agent_id out.'
    );
  };
  return [
    defineTool({
      name: 'wait_for_command',
      title: 'Wait for a command',
      description:
        'Your next command: a task to do, or "stop". Waits timeout_ms at most; on "timeout" call it again at once. A task that you have not ended is given again.',
      input: z.strictObject({
        agent_id: own,
        timeout_ms: z.number().min(0).describe('Milliseconds, e.g. 45000'),
        cursor: z
          .number()
          .int()
          .min(0)
          .optional()
          .describe('cursor of your last answer')
      }),
      annotations: acting,
      handle: async (input, { clientName, signal }) => {
        check(input.agent_id);
        const { waitSeconds } = limitsOf(clientName);
        const heard = await desk.waitForCommand({
          timeoutMs: Math.min(input.timeout_ms, 1000 * waitSeconds),
          signal
        });
        return commandAnswer(heard, clientName, worker);
      }
    }),
    defineTool({
      name: 'emit_event',
      title: 'Tell what happens',
      description:
        'Records what you do, for all to read: ack, progress, heartbeat; and ends the running task with exactly one of result, error, canceled (done: true).',
      input: z.strictObject({
        agent_id: own,
        type: z
          .string()
          .regex(/^[A-Za-z][\w.:-]{0,63}$/, 'is no word of 1 to 64 characters')
          .describe('ack, progress, heartbeat, result, error, canceled, …'),
        task_id: taskId.optional().describe('Default: the running task'),
        payload: z.unknown().optional().describe('A JSON object'),
        done: z.boolean().optional().describe('true with the end of a task')
      }),
      annotations: acting,
      handle: async (input): Promise<Facts> => {
        check(input.agent_id);
        const { seq, cancelRequested } = await desk.emitEvent({
          type: input.type,
          taskId: input.task_id,
          payload: input.payload,
          done: input.done
        });
        return {
          ok: true,
          ...(seq === undefined ? {} : { seq }),
          ...(cancelRequested ? { cancel_requested: true } : {})
        };
      }
    })
  ];
}

/** Whoever makes tasks names them; it has to stand in one line. */
export const taskId = z
  .string()
  .min(1)
  .max(200)
  // No pattern for clients: those that read it without Unicode misread it.
  .refine((id) => !/\p{Cc}/u.test(id), 'holds a control character');
