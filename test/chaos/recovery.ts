import { existsSync, readdirSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { readIfExists } from '../../src/core/state/files/atomic-file.ts';
import type { Diary } from './diary.ts';
import type { ChaosStage } from './stage.ts';

/** Longer than the longest pause of any server that could report it. */
const patienceMs = 60_000;

/**
 * Before a process is killed: reads which agents will end with it.
 * @param ids the agents, or all that the server has queued
 * @returns waits until their end is recorded, and notes how long that took
 */
export function watchRecovery(
  stage: ChaosStage,
  ids?: string[],
  serverPid?: number
): (diary: Diary) => Promise<void> {
  const file = (id: string, name: string) => stage.state('spawns', id, name);
  const concerned = ids ?? queuedBy(stage, serverPid);
  const open = concerned.filter((id) => !existsSync(file(id, 'outcome.json')));
  return async (diary) => {
    const began = performance.now();
    // A server that was only starting it leaves it a supervisor.
    const isTold = (id: string) =>
      existsSync(file(id, 'outcome.json')) ||
      (ids === undefined && hasSupervisor(file(id, 'claim')));
    while (open.some((id) => !isTold(id))) {
      if (performance.now() - began > patienceMs) {
        diary.problem(`nobody tells the end of one of ${open}`);
        return;
      }
      await delay(20);
    }
    if (open.length > 0) diary.recoveries.push(performance.now() - began);
  };
}

function queuedBy(stage: ChaosStage, pid: number | undefined): string[] {
  const marks = stage.state('open');
  if (!existsSync(marks)) return [];
  return readdirSync(marks).filter((id) => {
    const path = stage.state('spawns', id);
    const record = readIfExists(`${path}/record.json`) ?? '{}';
    const { owner } = JSON.parse(record);
    return owner?.pid === pid && !existsSync(`${path}/claim`);
  });
}

function hasSupervisor(claim: string): boolean {
  return /^\d/.test(readIfExists(claim) ?? '');
}
