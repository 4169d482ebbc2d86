import { z } from 'zod';
import { lazily } from '../lazily.ts';
import type { WorkerState } from './task-queue.ts';

/** How the logs stood at some time, and how far they were read for that. */
export interface Kept {
  inbox: number;
  outbox: number;
  state: WorkerState;
}

const keptSchema = lazily(() => {
  const count = z.int().min(0);

  const taskSchema = z.object({
    id: z.string(),
    payload: z.unknown().optional(),
    payloadFile: z.string().optional(),
    deliveries: count,
    isRunning: z.boolean(),
    isCancelWanted: z.boolean()
  });

  return z.object({
    inbox: count,
    outbox: count,
    state: z.strictObject({
      commandSeq: count,
      eventSeq: count,
      tasks: z.array(taskSchema),
      ended: z.array(z.string()),
      stopAfter: count.nullable(),
      isForced: z.boolean(),
      isReady: z.boolean(),
      phase: z.enum(['waiting', 'working', 'stopping', 'crashed', 'stopped']),
      isStalled: z.boolean(),
      generation: count,
      failedStarts: count,
      fruitlessCrashes: count,
      fruitlessExits: count
    })
  });
});

/** Undefined for what another version, or somebody else, has written. */
export function parseKept(text: string): Kept | undefined {
  try {
    return keptSchema().safeParse(JSON.parse(text)).data;
  } catch {
    return undefined;
  }
}
