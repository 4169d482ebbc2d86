import { existsSync, readdirSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import type { Random } from '../kit/judges/random.ts';
import type { ToolResult } from '../kit/servers/mcp-client.ts';
import {
  type Behaviour,
  behaviourOf,
  promptFor,
  someBehaviour
} from './behaviours.ts';
import { add, type Diary } from './diary.ts';
import { attempt, type Servers } from './servers.ts';
import type { ChaosStage } from './stage.ts';

/** An actor of a run, and what it acts on. */
export interface Player {
  name: string;
  stage: ChaosStage;
  servers: Servers;
  diary: Diary;
  random: Random;
  /** Whether time is over. */
  isOver: () => boolean;
}

/** More that wait would only wait. */
const mostOpen = 40;

/** Spawns agents one after the other, and does to them what clients do. */
export async function spawnAgents(player: Player): Promise<void> {
  const { stage, random, isOver } = player;
  for (let count = 0; !isOver(); count += 1) {
    await delay(random.between(0, 250));
    while (!isOver() && openIn(stage) > mostOpen) await delay(100);
    const behaviour = someBehaviour(random);
    const seconds = random.between(5, 250) / 100;
    const prompt = promptFor(behaviour, `${player.name}-${count}`, seconds);
    const withId = random.next() < 0.4;
    const next = random.next();
    const pause = random.between(0, 1500);
    const id = await spawnOne(player, behaviour, prompt, withId, count);
    if (id !== undefined) await goOn(player, id, next, pause, count);
  }
}

/** One request; asked again after a lost answer when it has an id. */
async function spawnOne(
  player: Player,
  { engine, timeout }: Behaviour,
  prompt: string,
  withId: boolean,
  count: number
): Promise<string | undefined> {
  const { diary, servers, random } = player;
  const request_id = `${player.name}/${count}`;
  const asked = { prompt, timeout, ...(withId ? { request_id } : {}) };
  for (;;) {
    const server = await servers.any(random);
    const answer = await attempt(server, `spawn_${engine}`, asked);
    if (answer === undefined && withId) {
      diary.count('asked again');
      continue;
    }
    if (answer === undefined) return undefined;
    const id = spawned(player, answer, `spawn of ${request_id}`);
    if (id !== undefined && withId) add(diary.requests, request_id, id);
    // To ask twice is no harm either.
    if (id === undefined || !withId || random.next() < 0.7) return id;
  }
}

/** The id of what a spawn has made; undefined when it was refused. */
function spawned(
  { diary }: Player,
  answer: ToolResult,
  what: string
): string | undefined {
  const { agent_id: id, status } = answer.data;
  if (typeof id === 'string' && !answer.isError) {
    diary.acknowledged.add(id);
    diary.hear(id, status);
    diary.count('spawned');
    return id;
  }
  if (diary.excuses(answer)) diary.count('refused');
  else diary.problem(`${what}: ${answer.text}`);
  return undefined;
}

async function goOn(
  player: Player,
  id: string,
  next: number,
  pauseMs: number,
  count: number
): Promise<void> {
  const { servers, random, diary } = player;
  if (next < 0.3) {
    await delay(pauseMs);
    await cancel(player, id);
  } else if (next < 0.5) {
    const args = { agent_ids: [id], timeout: pauseMs / 1000 };
    const server = await servers.any(random);
    const answer = await attempt(server, 'wait_for_agents', args);
    for (const result of list(answer, 'results', 'completed_results'))
      diary.hear(result.agent_id, result.status);
  } else if (next < 0.7) {
    await delay(pauseMs);
    const server = await servers.any(random);
    const answer = await attempt(server, 'result', { agent_id: id });
    if (answer?.data.status === 'not_found') diary.problem(`${id} not found`);
    diary.hear(id, answer?.data.status);
  } else if (next < 0.85) {
    await delay(pauseMs);
    await goOnWith(player, id, count);
  }
}

async function cancel(player: Player, id: string): Promise<void> {
  const { servers, random, diary } = player;
  const server = await servers.any(random);
  diary.canceled.add(id);
  diary.note(`cancel of ${id}`);
  const answer = await attempt(server, 'cancel_agent', { agent_id: id });
  diary.count('cancels');
  if (!answer) return;
  if (answer.isError && !diary.excuses(answer))
    diary.problem(`cancel of ${id}: ${answer.text}`);
  diary.hear(id, answer.data.status);
}

/** Refused where it is still at work, or has no session. */
async function goOnWith(
  player: Player,
  id: string,
  count: number
): Promise<void> {
  const { servers, random, diary } = player;
  // On the engine of the one before, whichever that is.
  const kind = ['fast', 'slow', 'fails'][random.between(0, 2)] ?? 'fast';
  const behaviour = behaviourOf(kind);
  const name = `${player.name}-${count}-on`;
  const prompt = promptFor(behaviour, name, 0.2);
  const server = await servers.any(random);
  const answer = await attempt(server, 'continue_agent', {
    agent_id: id,
    prompt
  });
  if (!answer) return;
  diary.count('continued');
  const code = String(answer.data.error_code);
  if (answer.isError && refusals.includes(code)) return;
  spawned(player, answer, `continuing ${id}`);
}

const refusals = ['no_session', 'unknown_agent'];

/** Rows of an answer, under any of these names. */
export function list(
  answer: ToolResult | undefined,
  ...names: string[]
): Record<string, unknown>[] {
  return names.flatMap((name) => {
    const rows: unknown = answer?.data[name];
    return Array.isArray(rows) ? rows.map((row) => ({ ...Object(row) })) : [];
  });
}

function openIn(stage: ChaosStage): number {
  const marks = stage.state('open');
  return existsSync(marks) ? readdirSync(marks).length : 0;
}
