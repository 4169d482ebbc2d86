import { setTimeout as delay } from 'node:timers/promises';
import { pick } from '../../kit/judges/random.ts';
import type { ToolResult } from '../../kit/servers/mcp-client.ts';
import { attempt, type Served } from '../servers.ts';
import { list } from '../spawning.ts';
import {
  type EverydayPlayer,
  factsOf,
  isAtWork,
  openAgents
} from './player.ts';
import { contradictions, type Known, leftOut, type Said } from './truth.ts';

/** Asks every server again and again, and holds each answer to the facts. */
export async function keepAsking(player: EverydayPlayer): Promise<void> {
  const { random, servers, isOver } = player;
  while (!isOver()) {
    await delay(random.between(20, 200));
    const served = await servers.oneOf(random);
    const what = pick(random, [askList, askResult, askResult, askWait]);
    await what(player, served);
  }
}

/** How agents stood before a question. */
interface Standing {
  known: string[];
  ended: Set<string>;
  atWork: string[];
}

async function askList(player: EverydayPlayer, served: Served): Promise<void> {
  const before = standing(player);
  const answer = await ask(player, served, 'list', { limit: 100 });
  if (!answer) return;
  const active = ['running', 'queued'].flatMap((status) =>
    list(answer, status).map(({ id }) => ({ id: String(id), status }))
  );
  const known = compare(player, served, 'list', before, active);
  for (const id of leftOut(known, active))
    wrong(player, served, `list leaves out ${id}, which is at work`);
}

async function askResult(
  player: EverydayPlayer,
  served: Served
): Promise<void> {
  const { random } = player;
  const before = standing(player);
  // Mostly of one of which there is news.
  const ids = random.next() < 0.7 ? openAgents(player) : before.known;
  if (ids.length === 0) return;
  const id = pick(random, ids);
  const answer = await ask(player, served, 'result', { agent_id: id });
  if (!answer) return;
  const said = [{ ...answer.data, id, status: String(answer.data.status) }];
  compare(player, served, 'result', before, said.filter(isJudged));
}

async function askWait(player: EverydayPlayer, served: Served): Promise<void> {
  const { random } = player;
  const open = openAgents(player);
  if (open.length === 0) return;
  const agent_ids = [
    ...new Set(
      [1, 2, 3].slice(random.between(0, 2)).map(() => pick(random, open))
    )
  ];
  const timeout = random.between(1, 20) / 10;
  const mode = pick(random, ['all', 'any']);
  await waitFor(player, served, { agent_ids, timeout, mode });
}

/** One wait, whose answer is held to the facts. */
export async function waitFor(
  player: EverydayPlayer,
  served: Served,
  args: { agent_ids: string[]; timeout: number; mode?: string }
): Promise<ToolResult | undefined> {
  const before = standing(player);
  const answer = await ask(player, served, 'wait_for_agents', args);
  if (!answer) return undefined;
  const ended = list(answer, 'results', 'completed_results').map((row) => ({
    ...{ ...row, id: String(row.agent_id), status: String(row.status) }
  }));
  const waiting = list(answer, 'still_running').map((row) => ({
    id: String(row.agent_id ?? row.id),
    status: 'running'
  }));
  compare(player, served, 'wait_for_agents', before, [
    ...ended.filter(isJudged),
    ...waiting
  ]);
  if (answer.data.status !== 'all_completed') return answer;
  const told = new Set(ended.map(({ id }) => id));
  for (const id of args.agent_ids)
    if (!told.has(id))
      wrong(player, served, `all_completed without a word on ${id}`);
  return answer;
}

async function ask(
  player: EverydayPlayer,
  served: Served,
  tool: string,
  args: Record<string, unknown>
): Promise<ToolResult | undefined> {
  const answer = await attempt(served.client, tool, args);
  player.diary.count(`asked ${tool}`);
  if (!answer?.isError) return answer;
  if (!player.diary.excuses(answer))
    wrong(player, served, `${tool} ${JSON.stringify(args)}: ${answer.text}`);
  return undefined;
}

function standing(player: EverydayPlayer): Standing {
  const { diary } = player;
  return {
    known: [...diary.agents.keys()],
    ended: new Set(diary.endedAt.keys()),
    atWork: openAgents(player).filter((id) => isAtWork(player, id))
  };
}

/** Holds an answer to what is known now that it has come. */
function compare(
  player: EverydayPlayer,
  served: Served,
  tool: string,
  { known, ended, atWork }: Standing,
  said: Said[]
): Known {
  const { diary } = player;
  const ids = said.map(({ id }) => id);
  const facts: Known = {
    ended,
    ids: new Set(known.filter((id) => !diary.isHurt(id))),
    atWork: new Set(atWork.filter((id) => isAtWork(player, id))),
    done: new Set(ids.filter((id) => factsOf(player, id).includes('finish')))
  };
  for (const fault of contradictions(facts, said))
    wrong(player, served, `${tool}: ${fault}`);
  for (const { id, status } of said) diary.hear(id, status);
  return facts;
}

/** A server that does not know the engine says so, and judges nothing. */
function isJudged(row: Record<string, unknown>): boolean {
  return !String(row.error).includes('is not judged');
}

function wrong(player: EverydayPlayer, { name }: Served, what: string): void {
  player.diary.problem(`${name}: ${what}`);
}
