import { z } from 'zod';
import type { Facts } from '../../../answers/budget.ts';
import { HostError } from '../../../core/errors.ts';
import type {
  CommandResult,
  WorkerMailbox
} from '../../../core/orchestrator/queue/worker-mailbox.ts';
import { fits, limitsOf } from '../answers/client-limits.ts';
import { acting, defineTool, type Tool } from '../tool/define-tool.ts';
import { taskId } from './shapes.ts';

export interface Payloads {
  /** Writes a payload to a file that the worker can read; returns its path. */
  keepPayload: (text: string) => string;
  /** The absolute path of a payload file. */
  pathOf: (file: string) => string;
}

interface WorkerTools extends Payloads {
  agentId: string;
  desk: WorkerMailbox;
}

const own = z
  .string()
  .max(64)
  .optional()
  .describe('Your own id; may be left out');

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
        const result = await desk.waitForCommand({
          timeoutMs: Math.min(input.timeout_ms, 1000 * waitSeconds),
          signal
        });
        return commandAnswer(result, clientName, worker);
      }
    }),
    defineTool({
      name: 'emit_event',
      title: 'Report an event',
      description:
        'Records what you do, for all to read: ack, progress, heartbeat; and ends the running task with exactly one of result, error, canceled (done: true).',
      input: z.strictObject({
        agent_id: own,
        type: z
          .string()
          .regex(
            /^[A-Za-z][\w.:-]{0,63}$/,
            'is not a word of 1 to 64 characters'
          )
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

/**
 * The next command for a worker. A payload that the client would cut is written
 * to a file.
 */
export function commandAnswer(
  { given, cursor, cancelRequested }: CommandResult,
  clientName: string,
  payloads: Payloads
): Facts {
  const cancellation = cancelRequested ? { cancel_requested: true } : {};
  if (!given) return { status: 'timeout', cursor, ...cancellation };
  const { type, task, redelivered } = given;
  if (!task) return { status: 'command', command: { type }, cursor };
  const answer = (payload: Facts): Facts => ({
    status: 'command',
    command: {
      type,
      task_id: task.id,
      ...payload,
      ...(redelivered ? { redelivered: true } : {})
    },
    cursor,
    ...cancellation
  });
  if (task.payloadFile !== undefined)
    return answer({ payload_file: payloads.pathOf(task.payloadFile) });
  const whole = answer(
    task.payload === undefined ? {} : { payload: task.payload }
  );
  if (fits(whole, clientName)) return whole;
  const file = payloads.keepPayload(JSON.stringify(task.payload));
  return answer({ payload_file: payloads.pathOf(file) });
}
