import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import {
  type Behaviour,
  behaviourOf,
  everydayBehaviours,
  promptFor,
  someBehaviour
} from '../behaviours.ts';
import type { ServerKind } from '../outfits.ts';
import { newBelow } from '../program.ts';
import { attempt } from '../servers.ts';
import { list } from '../spawning.ts';
import type { EverydayPlayer } from './player.ts';
import { waitFor } from './poll.ts';

const withPlugins: ServerKind[] = ['with plugins', 'container'];

/** Starts agents one after the other, and does with them what clients do. */
export async function startAgents(player: EverydayPlayer): Promise<void> {
  const { random, diary, servers, isOver } = player;
  for (let count = 0; !isOver(); count += 1) {
    await delay(random.between(0, 150));
    const behaviour = someBehaviour(random, everydayBehaviours);
    const seconds = random.between(5, 150) / 100;
    const next = random.next();
    // Few where all may end at once.
    const kinds = random.next() < 0.9 ? withPlugins.slice(0, 1) : withPlugins;
    const name = `${player.name}-${count}`;
    const began = Date.now();
    const started = await start(player, behaviour, name, seconds, kinds);
    if (started === undefined) continue;
    if (behaviour.kind === 'isolated') await lookBelow(player, started, began);
    else if (next < 0.08) await cancel(player, started);
    else if (next < 0.6)
      await waitFor(player, await servers.oneOf(random), {
        agent_ids: [started],
        timeout: 3
      });
    if (next < 0.08) diary.count('cancels');
  }
}

/** The id; undefined when it was refused or its server has ended. */
export async function start(
  player: EverydayPlayer,
  behaviour: Behaviour,
  name: string,
  seconds: number,
  kinds = withPlugins.slice(0, 1)
): Promise<string | undefined> {
  const { diary, servers, random } = player;
  const { engine, kind, timeout, isolate } = behaviour;
  const served = await servers.oneOf(random, ...kinds);
  const prompt = promptFor(behaviour, name, seconds);
  const answer = await attempt(served.client, `spawn_${engine}`, {
    ...{ prompt, timeout },
    ...(isolate ? { isolate: 'worktree' } : {})
  });
  if (!answer) return undefined;
  const { agent_id: id, status } = answer.data;
  if (typeof id !== 'string' || answer.isError) {
    if (diary.excuses(answer)) diary.count('refused');
    else if (!isolate || !diary.wasWiped(Date.now() - 3000, Date.now()))
      diary.problem(`a spawn by ${served.name}: ${answer.text}`);
    return undefined;
  }
  diary.acknowledged.add(id);
  diary.agents.set(id, { name, kind, server: served.name });
  diary.hear(id, status);
  diary.count('spawned');
  return id;
}

export function startPatient(
  player: EverydayPlayer,
  name: string,
  seconds: number,
  kinds?: ServerKind[]
): Promise<string | undefined> {
  return start(player, behaviourOf('patient'), name, seconds, kinds);
}

async function cancel(player: EverydayPlayer, id: string): Promise<void> {
  const { servers, random, diary } = player;
  await delay(random.between(0, 800));
  diary.canceled.add(id);
  const served = await servers.oneOf(random);
  const answer = await attempt(served.client, 'cancel_agent', { agent_id: id });
  if (!answer) return;
  if (answer.isError && !diary.excuses(answer))
    diary.problem(`cancel of ${id} by ${served.name}: ${answer.text}`);
  // Without the engine an end is said for the time being, and not recorded.
  if (served.kind !== 'without plugins') diary.hear(id, answer.data.status);
}

/** What an isolated agent made below a gitlink is there after its end. */
async function lookBelow(
  player: EverydayPlayer,
  id: string,
  began: number
): Promise<void> {
  const { servers, random, diary } = player;
  const served = await servers.oneOf(random);
  const waited = await waitFor(player, served, {
    agent_ids: [id],
    timeout: 60
  });
  const [result] = list(waited, 'results');
  if (result?.status !== 'completed') return;
  const { path } = Object(result.worktree);
  const file = newBelow(diary.agents.get(id)?.name ?? '');
  const isThere = existsSync(join(String(path), file));
  if (diary.wasWiped(began, Date.now()) || isThere) return;
  diary.problem(`${id} made ${file}, which is gone: ${JSON.stringify(result)}`);
}
