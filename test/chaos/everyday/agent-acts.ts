import { existsSync, rmSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import {
  processEnvironments,
  processTable
} from '../../../src/adapters/child-process/process-table.ts';
import { pick } from '../../kit/judges/random.ts';
import { until } from '../../kit/judges/until.ts';
import { removeWhileUsed } from '../../kit/workspaces/remove-while-used.ts';
import { behaviourOf } from '../behaviours.ts';
import { attempt } from '../servers.ts';
import { list } from '../spawning.ts';
import { start, startPatient } from './agents.ts';
import type { Act } from './deck.ts';
import { type EverydayPlayer, factsOf } from './player.ts';
import { waitFor } from './poll.ts';

/** Until an agent whose folder is gone has ended; promised is soon. */
const endedMs = 20_000;

/** What happens to single agents and to the servers that started them. */
export const agentActs: Act[] = [
  { what: 'removed folder', play: removeFolder },
  { what: 'removed stdout', play: removeStdout },
  { what: 'server ended', play: endServer }
];

/** Its processes end, and no answer takes it for one that did its work. */
async function removeFolder(
  player: EverydayPlayer,
  count: number
): Promise<void> {
  const { stage, diary, servers, random } = player;
  const id = await startPatient(player, `folder-${count}`, 40);
  if (!(await isBegun(player, id)) || id === undefined) return;
  const other = await servers.oneOf(random);
  const args = { agent_ids: [id], timeout: endedMs / 1000 };
  const waiting = attempt(other.client, 'wait_for_agents', args);
  diary.injure(id, 'removed folder');
  removeWhileUsed(stage.state('spawns', id));
  await until('its processes to end', () => !isAlive(id), endedMs).catch(() =>
    diary.problem(`${id}, whose folder is gone, is still there`)
  );
  const answer = await waiting;
  const ended = list(answer, 'results', 'completed_results');
  for (const { agent_id, status } of ended)
    if (agent_id === id && status === 'completed')
      diary.problem(`${other.name}: ${id} without folder is completed`);
  const isNamed = JSON.stringify(answer?.data ?? {}).includes(id);
  if (answer?.data.status === 'all_completed' || (answer && !isNamed))
    diary.problem(`${other.name} on a lost agent: ${answer?.text}`);
}

/** It ends all the same, and not as one whose answer is whole. */
async function removeStdout(
  player: EverydayPlayer,
  count: number
): Promise<void> {
  const { stage, diary, servers, random } = player;
  const id = await startPatient(player, `stdout-${count}`, 1.5);
  if (!(await isBegun(player, id)) || id === undefined) return;
  diary.injure(id, 'removed stdout');
  rmSync(stage.state('spawns', id, 'stdout'), { force: true });
  const other = await servers.oneOf(random);
  const args = { agent_ids: [id], timeout: endedMs / 1000 };
  const answer = await waitFor(player, other, args);
  if (answer && answer.data.status !== 'all_completed')
    diary.problem(`${other.name} on one without stdout: ${answer.text}`);
}

/** A server that has the engines: it can read their output and start agents. */
async function endServer(player: EverydayPlayer): Promise<void> {
  const { servers, random, diary } = player;
  const served = await servers.oneOf(random, 'with plugins');
  const how = pick(random, ['SIGKILL', 'SIGTERM', 'hang up']);
  diary.note(`${how}: ${served.name}`);
  served.isEnding = true;
  if (how === 'hang up') served.client.child.stdin?.end();
  else served.client.child.kill(how === 'SIGKILL' ? 'SIGKILL' : 'SIGTERM');
  // Now and then only servers without plugins watch meanwhile.
  await delay(random.between(0, 1500));
  await servers.fill();
}

/** The user has a session in a server that an agent was first to start. */
export const tmuxOfAgent: Act = {
  what: 'tmux of an agent',
  play: async (player, count) => {
    player.stage.tmux('kill-server');
    player.diary.sessions.clear();
    await startMultiplexer(player, count, () => openSession(player, count));
  }
};

/** An agent uses a server that the user had before. */
export const tmuxOfUser: Act = {
  what: 'tmux of the user',
  play: async (player, count) => {
    openSession(player, count);
    await startMultiplexer(player, count, () => undefined);
  }
};

async function startMultiplexer(
  player: EverydayPlayer,
  count: number,
  meanwhile: () => void
): Promise<void> {
  const { servers, random } = player;
  const name = `multiplexer-${count}`;
  const id = await start(player, behaviourOf('multiplexer'), name, 1);
  if (id === undefined) return;
  const hasSession = () => factsOf(player, id).includes('session');
  await until('its session', hasSession, endedMs).catch(() => undefined);
  meanwhile();
  const served = await servers.oneOf(random);
  await waitFor(player, served, { agent_ids: [id], timeout: 20 });
  lookForSessions(player);
}

function openSession({ stage, diary }: EverydayPlayer, count: number): void {
  const name = `mine-${count}`;
  stage.tmux('new-session', '-d', '-s', name, 'exec sleep 1000');
  diary.sessions.add(name);
}

/** Only the user ends the user's sessions. */
export function lookForSessions({ stage, diary }: EverydayPlayer): void {
  const format = '#{session_name}';
  const there = stage.tmux('list-sessions', '-F', format)?.split('\n') ?? [];
  for (const name of diary.sessions)
    if (!there.includes(name)) {
      diary.problem(`the user's session ${name} was ended`);
      diary.sessions.delete(name);
    }
}

/** Whether it has begun; it may be refused, or its server may end. */
export async function isBegun(
  player: EverydayPlayer,
  id: string | undefined
): Promise<boolean> {
  if (id === undefined) return false;
  const { diary, stage } = player;
  const outcome = stage.state('spawns', id, 'outcome.json');
  const hasBegun = () =>
    factsOf(player, id).includes('start') || existsSync(outcome);
  await until(`${id} to begin`, hasBegun, 60_000).catch((error) =>
    diary.problem(String(error))
  );
  return factsOf(player, id).includes('start');
}

/** Whether a process has the mark of an agent. */
export function isAlive(id: string): boolean {
  const pids = processTable()
    .filter(({ zombie }) => !zombie)
    .map(({ pid }) => pid);
  return [...processEnvironments(pids).values()].some((text) =>
    text.includes(`TROUPE_AGENT_ID=${id}`)
  );
}
