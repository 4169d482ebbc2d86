import { existsSync, readdirSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { readIfThere } from '../../core/state/atomic-file.ts';
import type { Diary } from './diary.ts';
import type { ChaosStage } from './stage.ts';

/** Longer than the longest pause of those who could tell it. */
const patienceMs = 60_000;

/**
 * Before somebody is killed: looks which agents will have ended by that.
 * @param ids those, or all that the server has queued
 * @returns waits until somebody has written it down, and notes how long
 *   that took
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
    const record = readIfThere(`${path}/record.json`) ?? '{}';
    const { owner } = JSON.parse(record);
    return owner?.pid === pid && !existsSync(`${path}/claim`);
  });
}

function hasSupervisor(claim: string): boolean {
  return /^\d/.test(readIfThere(claim) ?? '');
}
