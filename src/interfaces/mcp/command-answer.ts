import type { Heard } from '../../core/orchestrator/worker-desk.ts';
import type { Facts } from '../../core/runs/fit.ts';
import { inlineChars } from '../../core/runs/report.ts';
import { limitsOf } from './clients.ts';

export interface Payloads {
  /** Puts a payload into a file that the worker can read; gives its path. */
  keepPayload: (text: string) => string;
  /** The absolute path of a payload that has a file. */
  pathOf: (file: string) => string;
}

/**
 * What a worker is told: the command whole, or with its payload in a file
 * where the client would cut it.
 */
export function commandAnswer(
  { given, cursor, cancelRequested }: Heard,
  clientName: string,
  payloads: Payloads
): Facts {
  const wanted = cancelRequested ? { cancel_requested: true } : {};
  if (!given) return { status: 'timeout', cursor, ...wanted };
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
    ...wanted
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

function fits(facts: Facts, clientName: string): boolean {
  const text = JSON.stringify(facts);
  const { answerBytes } = limitsOf(clientName);
  return text.length <= inlineChars && Buffer.byteLength(text) <= answerBytes;
}
