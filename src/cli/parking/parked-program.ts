import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { isStillThere } from '../../adapters/child-process/process-table.ts';
import { type Ask, type AskAnswer, refusal } from '../../core/asks/ask.ts';
import {
  agentOfAsk,
  answerTo,
  askIn,
  decide
} from '../../core/asks/ask-files.ts';
import { isCleared, type Parked } from '../../core/asks/parking.ts';
import { errnoOf } from '../../core/errors.ts';

/** The pause between two looks for the answers. */
const pollMs = 250;
const clearPollMs = 50;
/** The process that ends the program takes less. */
const clearMs = 15_000;

/** An ask that was decided. */
export interface Answered {
  ask: Ask;
  answer: AskAnswer;
}

/** Waits until all processes of the ended program are gone. */
export async function untilCleared(
  directory: string,
  { parker }: Parked
): Promise<void> {
  let isAlive = true;
  for (let at = performance.now(); !isCleared(directory); ) {
    const isLate = performance.now() - at > clearMs;
    if (isLate || (isAlive && !isStillThere(parker))) {
      isAlive = false;
      at = performance.now();
      clear(directory);
    }
    await delay(clearPollMs);
  }
}

/** The process that ended the program was killed: another one completes it. */
function clear(directory: string): void {
  const reaper = join(import.meta.dirname, 'reaper.cjs');
  const args = [reaper, directory, 'park', String(process.pid)];
  const child = spawn(process.execPath, args, { stdio: 'ignore' });
  child.on('error', () => undefined);
}

/** Waits for all answers. An ask that is not answered in time is refused. */
export async function untilAnswered(
  directory: string,
  { asks: ids }: Parked
): Promise<Answered[]> {
  const asks = ids.flatMap(
    (id) => askIn(directory, agentOfAsk(id) ?? '', id) ?? []
  );
  // By this process's own clock, as the bridge does.
  const [now, began] = [Date.now(), performance.now()];
  const endOf = (ask: Ask) => began + Date.parse(ask.expires_at) - now;
  for (;;) {
    const answered = asks.flatMap((ask) => {
      const answer = answerTo(directory, ask);
      return answer ? [{ ask, answer }] : [];
    });
    if (answered.length === asks.length) return answered;
    for (const ask of asks)
      if (performance.now() >= endOf(ask)) expire(directory, ask);
    await delay(pollMs);
  }
}

function expire(directory: string, ask: Ask): void {
  const refused = { decision: refusal(ask.kind), text: null } as const;
  try {
    decide(directory, ask, { ...refused, by: 'timeout' });
  } catch (error) {
    // The next round tries again.
    if (!isPassing(error)) throw error;
  }
}

/** Whether a write may be repeated: the disk is full, or its reader is slow. */
export function isPassing(error: unknown): boolean {
  return ['ENOSPC', 'EDQUOT', 'EAGAIN'].includes(errnoOf(error) ?? '');
}
