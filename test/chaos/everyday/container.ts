import { existsSync } from 'node:fs';
import { until } from '../../kit/judges/until.ts';
import { isBegun } from './agent-acts.ts';
import { startPatient } from './agents.ts';
import type { Act } from './deck.ts';
import type { EverydayPlayer } from './player.ts';

/** Promised are two minutes; the machine has much else to do. */
const toldMs = 150_000;

/**
 * Acts as `docker restart`: every process ends at once, and a server in a new
 * process namespace takes over.
 * @param isAwaited whether the run lasts until the ends are reported
 */
export function restartContainer(isAwaited: boolean): Act {
  return {
    what: 'container restart',
    play: async (player, count) => {
      const { servers, diary, random } = player;
      const served = await servers.oneOf(random, 'container');
      const names = [1, 2].map((n) => `contained-${count}-${n}`);
      const started = await Promise.all(
        names.map((name) => startPatient(player, name, 60, ['container']))
      );
      for (const id of started) await isBegun(player, id);
      served.isEnding = true;
      const ids = [...diary.agents]
        .filter(([, { server }]) => server === served.name)
        .map(([id]) => id)
        .filter((id) => !diary.endedAt.has(id));
      for (const id of ids) diary.injure(id, 'container restart');
      served.client.child.kill('SIGKILL');
      await served.client.exited;
      await servers.fill();
      if (isAwaited) await seeEnds(player, ids);
      else for (const id of ids) diary.doubted.add(id);
    }
  };
}

async function seeEnds(player: EverydayPlayer, ids: string[]): Promise<void> {
  const { stage, diary } = player;
  const began = performance.now();
  const open = () =>
    ids.filter((id) => !existsSync(stage.state('spawns', id, 'outcome.json')));
  await until('ends', () => open().length === 0, toldMs).catch(() => {
    diary.problem(`${open()} of a container that ended are at work for ever`);
    for (const id of open()) diary.doubted.add(id);
  });
  diary.recoveries.push(performance.now() - began);
}
