import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { exitCodeOf } from '../../../src/core/runs/run-files.ts';
import { seededRandom } from '../../kit/judges/random.ts';
import { until } from '../../kit/judges/until.ts';
import { type McpClient, startServer } from '../../kit/servers/mcp-client.ts';
import {
  createStepWorkspace,
  type StepWorkspace,
  stepPrompt
} from '../../kit/workspaces/step-workspace.ts';

const random = seededRandom('fault-ends');

/** So often a cancel meets an end; `TROUPE_RACES=1000` to be surer. */
const races = Number(process.env.TROUPE_RACES) || 48;

let workspace: StepWorkspace;
let servers: McpClient[];

beforeEach(async () => {
  workspace = createStepWorkspace();
  const env = { TROUPE_MAX_CONCURRENT: '8' };
  servers = [
    await startServer(workspace, { env }),
    await startServer(workspace, { env })
  ];
});

afterEach(async () => {
  for (const server of servers) {
    expect(await server.close()).toEqual({ code: 0, signal: null });
    expect(server.impurities).toEqual([]);
    expect(server.stderr).toBe('');
  }
  workspace.remove();
});

test('a cancel that meets the end has one outcome, the same for all servers', {
  timeout: 60_000 + races * 200
}, async () => {
  // Adapts to the machine: longer after cancels that came too late.
  let scale = 1;
  const ends = await inEights(races, async (round) => {
    const [one, other] = servers;
    const seconds = scale * (0.05 + (round % 4) * 0.12);
    const { id } = await spawned(one, `c${round}`, seconds);
    await delay(25 + random.next() * 65);
    const canceled = await other?.call('cancel_agent', { agent_id: id });
    scale *= canceled?.data.status === 'canceled' ? 1 / 1.1 : 1.1;
    return { id, told: canceled?.data.status };
  });
  const counts = await expectOneEnd(ends, ['completed', 'canceled']);
  // Otherwise there was no race.
  expect(Math.min(...counts)).toBeGreaterThan(0);
  const late = ends.filter(({ id, told }) => {
    const directory = join(workspace.record, 'spawns', id);
    return told === 'canceled' && exitCodeOf(directory) === 0;
  });
  // As it starts or ends, a request may stand whose signal finds nothing.
  expect(late.length).toBeLessThan(races / 8);
});

test('a time limit that meets the end has one outcome, the same for all servers', async () => {
  const ends = await inEights(16, async (round) => {
    const seconds = 0.85 + random.next() / 4;
    const [one] = servers;
    return spawned(one, `t${round}`, seconds, { timeout: 1 });
  });
  await expectOneEnd(ends, ['completed', 'timeout']);
});

test('an agent left behind is adopted by many, and ends once', async () => {
  const lost = await startServer(workspace);
  const left = await Promise.all(
    [1, 2, 3, 4].map((name) => spawned(lost, `left${name}`, 1))
  );
  lost.child.kill('SIGKILL');
  await lost.exited;
  servers.push(
    ...(await Promise.all([1, 2].map(() => startServer(workspace))))
  );
  const [completed] = await expectOneEnd(left, ['completed']);
  expect(completed).toBe(4);
});

interface Ended {
  id: string;
  told?: unknown;
}

async function spawned(
  server: McpClient | undefined,
  name: string,
  seconds: number,
  more: Record<string, unknown> = {}
): Promise<Ended> {
  const prompt = stepPrompt(name, seconds);
  const answer = await server?.call('spawn_step', { prompt, ...more });
  return { id: String(answer?.data.agent_id) };
}

async function inEights<T>(
  count: number,
  work: (round: number) => Promise<T>
): Promise<T[]> {
  const done: T[] = [];
  for (let round = 0; round < count; round += 8)
    done.push(
      ...(await Promise.all(
        [0, 1, 2, 3, 4, 5, 6, 7].map((index) => work(round + index))
      ))
    );
  return done;
}

/** How often each of the statuses came. */
async function expectOneEnd(ends: Ended[], statuses: string[]) {
  const agent_ids = ends.map(({ id }) => id);
  const seen: unknown[] = [];
  for (const server of servers)
    for (let from = 0; from < agent_ids.length; from += 16) {
      const some = agent_ids.slice(from, from + 16);
      await server.call('wait_for_agents', { agent_ids: some, timeout: 30 });
    }
  for (const { id, told } of ends) {
    const answers = await Promise.all(
      servers.map((server) => server.call('result', { agent_id: id }))
    );
    const [first, second] = answers.map(({ data }) => data.status);
    expect(statuses).toContain(first);
    expect(second).toBe(first);
    if (told !== undefined) expect(told).toBe(first);
    seen.push(first);
  }
  const journal = join(workspace.record, 'iac.jsonl');
  await until(
    'all ends in the journal',
    () => endsIn(journal).length >= ends.length
  );
  expect(endsIn(journal).sort()).toEqual([...agent_ids].sort());
  return statuses.map((one) => seen.filter((status) => status === one).length);
}

function endsIn(journal: string): string[] {
  const finished = /"type":"finished","agent_id":"([0-9a-f]{8})"/g;
  return [...readFileSync(journal, 'utf8').matchAll(finished)].map(
    ([, id = '']) => id
  );
}
