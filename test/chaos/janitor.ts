import { existsSync, readdirSync, statSync, truncateSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import type { Player } from './spawning.ts';

/** The output of an agent that ended this long ago is no longer read. */
const settledMs = 3000;
const muchBytes = 1_000_000;

/** Notes how long outputs are, and empties the long ones: the disk is small. */
export async function tidyUp(player: Player): Promise<void> {
  while (!player.isOver()) {
    await delay(1000);
    measure(player, true);
  }
}

export function measure({ stage, diary }: Player, isEmptied: boolean): void {
  const spawns = stage.state('spawns');
  const names = existsSync(spawns) ? readdirSync(spawns) : [];
  for (const id of names.filter((name) => /^[0-9a-f]{8}$/.test(name))) {
    const find = (name: string) =>
      statSync(stage.state('spawns', id, name), { throwIfNoEntry: false });
    const { size = 0 } = find('stdout') ?? {};
    diary.outputs.set(id, Math.max(size, diary.outputs.get(id) ?? 0));
    const ended = find('outcome.json')?.mtimeMs ?? Number.POSITIVE_INFINITY;
    if (isEmptied && size > muchBytes && ended + settledMs < Date.now())
      truncateSync(stage.state('spawns', id, 'stdout'));
  }
}
