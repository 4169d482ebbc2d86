import { existsSync, readdirSync, readFileSync, utimesSync } from 'node:fs';
import { join, relative } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { parseIac } from '../../kit/judges/iac-parser.ts';
import { seededRandom } from '../../kit/judges/random.ts';
import {
  type McpClient,
  startServer,
  type ToolResult
} from '../../kit/servers/mcp-client.ts';
import {
  createStepWorkspace,
  type StepWorkspace,
  stepPrompt
} from '../../kit/workspaces/step-workspace.ts';

/** A server is killed this often; `TROUPE_KILL_ROUNDS=500` for a release. */
const rounds = Number(process.env.TROUPE_KILL_ROUNDS) || 25;
const random = seededRandom('server-killed');

interface Asked {
  name: string;
  code: number;
  prompt: string;
  /** Known once a spawn was answered. */
  agentId?: string;
}

interface Ended {
  asked: Asked;
  status: unknown;
  result: unknown;
  outcome: string;
}

let workspace: StepWorkspace;
const ended = new Map<string, Ended>();
let interrupted = 0;
let unanswered = 0;

beforeAll(() => {
  workspace = createStepWorkspace();
});

afterAll(() => workspace.remove());

describe(`a server killed ${rounds} times while agents run and spawns come in`, () => {
  test('loses no answered spawn, starts none twice, reports no wrong status', {
    timeout: 60_000 + rounds * 2000
  }, async () => {
    let open: Asked[] = [];
    for (let round = 0; round < rounds; round += 1) {
      const server = await startServer(workspace);
      await catchUp(server, open);
      open = await killDuringSpawns(server, round);
      expect(server.impurities).toEqual([]);
      expect(server.stderr).toBe('');
    }
    const last = await startServer(workspace);
    await catchUp(last, open);
    await checkAll(last);
    await last.close();
  });

  test('leaves nothing half-written a minute later', async () => {
    const mine = workspace.write('logs/mine.tmp', 'not ours');
    for (const path of leftOvers()) age(path);
    const server = await startServer(workspace);
    await server.call('list');
    const inAgents = /^spawns\/[0-9a-f]{8}\//;
    // This server may be writing its view of them all.
    await vi.waitFor(() => {
      const left = leftOvers().filter(
        (path) => !inAgents.test(relative(workspace.record, path))
      );
      expect(left).toEqual([mine]);
    }, 5000);
    await server.close();
  });
});

/** Sends spawns and kills the server somewhere in between. */
async function killDuringSpawns(
  server: McpClient,
  round: number
): Promise<Asked[]> {
  const open = Array.from({ length: random.between(2, 5) }, (_, index) => {
    const name = `r${round}-${index}`;
    const code = random.next() < 0.3 ? random.between(1, 100) : 0;
    const seconds = random.between(0, 80) / 1000;
    return { name, code, prompt: stepPrompt(name, seconds, code) };
  });
  const answers = open.map((asked) => spawn(server, asked));
  for (const answer of answers) answer.catch(() => undefined);
  // Before, between or after the answers, however slow the machine is.
  const awaited = answers[random.between(-2, open.length - 1)];
  await Promise.race([awaited, server.exited]);
  await delay(random.next() * 100);
  server.child.kill('SIGKILL');
  await server.exited;
  return open;
}

async function spawn(server: McpClient, asked: Asked): Promise<ToolResult> {
  const { prompt, name: request_id } = asked;
  const answer = await server.call('spawn_step', { prompt, request_id });
  const agentId = String(answer.data.agent_id);
  expect(asked.agentId ?? agentId).toBe(agentId);
  asked.agentId = agentId;
  return answer;
}

/** What the next server says of the last one's agents. */
async function catchUp(server: McpClient, open: Asked[]): Promise<void> {
  const answered = open.filter(({ agentId }) => agentId !== undefined);
  unanswered += open.length - answered.length;
  for (const { agentId } of answered) {
    const { data } = await server.call('result', { agent_id: agentId });
    expect(data.status).not.toBe('not_found');
  }
  // A client that got no answer asks again; one that did may do so, too.
  const again = await Promise.all(open.map((asked) => spawn(server, asked)));
  const agent_ids = open.map(({ agentId = '' }) => agentId);
  if (open.length === 0) return;
  const { data } = await server.call('wait_for_agents', {
    agent_ids,
    timeout: 20
  });
  expect(data.status).toBe('all_completed');
  for (const [index, asked] of open.entries()) {
    const told = again[index]?.data.status;
    const end = await checkEnd(server, asked);
    if (told !== 'queued' && told !== 'running') expect(told).toBe(end.status);
    if (end.status === 'interrupted') expect(told).toBe('interrupted');
    ended.set(asked.agentId ?? '', end);
  }
}

async function checkEnd(server: McpClient, asked: Asked): Promise<Ended> {
  const { data } = await server.call('result', { agent_id: asked.agentId });
  const seen = workspace.steps().filter(({ name }) => name === asked.name);
  const end = {
    asked,
    status: data.status,
    result: data.result,
    outcome: outcomeOf(asked)
  };
  const about = `${asked.name} (${asked.agentId}), seen ${JSON.stringify(seen)}, answered ${JSON.stringify(data)}`;
  if (data.status === 'interrupted') {
    interrupted += 1;
    expect(seen, about).toEqual([]);
    return end;
  }
  expect(
    seen.map(({ what }) => what),
    about
  ).toEqual(['start', 'end']);
  expect(data.status, about).toBe(asked.code === 0 ? 'completed' : 'failed');
  expect(data.result, about).toContain(`did ${asked.name}`);
  expect(JSON.parse(end.outcome).exit_code, about).toBe(asked.code);
  return end;
}

function outcomeOf({ agentId = '' }: Asked): string {
  const directory = join(workspace.record, 'spawns', agentId);
  return readFileSync(join(directory, 'outcome.json'), 'utf8');
}

/** After the last kill: everything that was ever said is still so. */
async function checkAll(server: McpClient): Promise<void> {
  for (const [agentId, before] of ended) {
    const { data } = await server.call('result', { agent_id: agentId });
    expect(data.status).toBe(before.status);
    expect(data.result).toBe(before.result);
    expect(outcomeOf(before.asked)).toBe(before.outcome);
  }
  const { data } = await server.call('list', { limit: 100 });
  expect(data).toMatchObject({ running: [], queued: [] });
  const starts = workspace.steps().filter(({ what }) => what === 'start');
  expect(new Set(starts.map(({ name }) => name)).size).toBe(starts.length);
  expect(workspace.survivors()).toEqual([]);
  const { faults, torn, records } = await workspace.verify();
  expect(faults).toEqual([]);
  await vi.waitFor(() => {
    const entries = workspace
      .logged()
      .flatMap((text) => parseIac(text).entries);
    expect(entries.filter(({ done }) => !done)).toEqual([]);
    const logged = new Set(entries.map(({ id }) => id));
    expect([...ended.keys()].filter((id) => !logged.has(id))).toEqual([]);
  }, 1500);
  process.stderr.write(
    `server-killed: ${rounds} kills, ${ended.size} agents, ${unanswered} spawns without answer, ${interrupted} never started, ${records} journal records, ${torn} torn; ${leftOvers().length} files half-written\n`
  );
}

/** A minute passes; where its writer's number is taken again, a day. */
function age(path: string): void {
  const [, pid] = /\.(\d+)\.[0-9a-f]{12}\.tmp$/.exec(path) ?? [];
  const isTaken = pid !== undefined && existsSync(`/proc/${pid}`);
  const then = Date.now() / 1000 - (isTaken ? 86_460 : 61);
  utimesSync(path, then, then);
}

/** Drafts and temporary files that killed servers left. */
function leftOvers(): string[] {
  return [workspace.path, workspace.paths.home].flatMap((root) =>
    readdirSync(root, { recursive: true })
      .map((name) => join(root, String(name)))
      .filter((path) => path.endsWith('.tmp'))
  );
}
