import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { seededRandom } from '../../kit/judges/random.ts';
import { until } from '../../kit/judges/until.ts';
import { type McpClient, startServer } from '../../kit/servers/mcp-client.ts';
import {
  createStepWorkspace,
  type StepWorkspace,
  stepPrompt
} from '../../kit/workspaces/step-workspace.ts';

const random = seededRandom('engine-caps');
/** Agents at work at once: of the engine `step`, and of all. */
const cap = 2;
const maximum = 5;

let workspace: StepWorkspace;
let servers: McpClient[];

beforeEach(() => {
  workspace = createStepWorkspace();
  servers = [];
  workspace.write(
    'other.mjs',
    `import step from './step.mjs';
     export default { ...step, name: 'other' };`
  );
  workspace.write(
    '.trouperc.json',
    JSON.stringify({
      plugins: ['./step.mjs', './other.mjs'],
      engines: { step: { maxConcurrent: cap } },
      maxConcurrent: maximum,
      maxSpawnsPerMinute: 0
    })
  );
});

afterEach(async () => {
  for (const server of servers) await server.close();
  expect(servers.flatMap(({ impurities }) => impurities)).toEqual([]);
  workspace.remove();
});

async function serve(): Promise<McpClient> {
  const server = await startServer(workspace);
  servers.push(server);
  return server;
}

/** Its name begins with its engine. */
async function spawn(server: McpClient, name: string, seconds: number) {
  const [engine] = name.split('-');
  const prompt = stepPrompt(name, seconds);
  const { data } = await server.call(`spawn_${engine}`, { prompt });
  return { id: String(data.agent_id), name, status: data.status };
}

/** By its server's clock, as text. */
function launchedAt(agentId: string): string {
  const folder = join(workspace.record, 'spawns', agentId);
  const text = readFileSync(join(folder, 'events.jsonl'), 'utf8');
  const line = text.split('\n').find((one) => one.includes('"started"'));
  return JSON.parse(line ?? '{}').at;
}

/** The most agents with this prefix that were at work at once. */
function mostAtWork(prefix = ''): number {
  let atWork = 0;
  let most = 0;
  for (const { what, name } of workspace.steps()) {
    if (!name.startsWith(prefix)) continue;
    atWork += what === 'start' ? 1 : -1;
    most = Math.max(most, atWork);
  }
  return most;
}

function started(prefix: string): string[] {
  return workspace
    .steps()
    .filter(({ what, name }) => what === 'start' && name.startsWith(prefix))
    .map(({ name }) => name);
}

test('an engine has its part of the places, over all servers, and holds up no other', async () => {
  const [one, two] = await Promise.all([serve(), serve()]);
  const letters = [
    ['a', one],
    ['b', two]
  ] as const;
  const spawned = await Promise.all(
    letters.flatMap(([letter, server]) =>
      Array.from({ length: 8 }, (_, index) => [
        // Long enough to meet on a machine that is slow to start them.
        spawn(server, `step-${letter}${index}`, 0.6),
        spawn(server, `other-${letter}${index}`, 0.4)
      ]).flat()
    )
  );
  const agent_ids = spawned.map(({ id }) => id);
  const { data } = await one.call('wait_for_agents', { agent_ids });
  expect(data.status).toBe('all_completed');
  expect(mostAtWork('step')).toBe(cap);
  expect(mostAtWork()).toBe(maximum);
  // First in, first out, of each engine in each server.
  const all = spawned.map(({ id, name }) => ({ name, at: launchedAt(id) }));
  for (const row of ['step-a', 'step-b', 'other-a', 'other-b']) {
    const times = all
      .filter(({ name }) => name.startsWith(row))
      .map(({ at }) => at);
    expect(times).toHaveLength(8);
    expect(times).toEqual(times.toSorted());
  }
  // All other agents passed the ones that waited for their engine.
  const names = started('');
  expect(names.lastIndexOf(started('other').at(-1) ?? '')).toBeLessThan(
    names.length - cap
  );
});

test('never more of them are at work, also while servers are killed', async () => {
  let name = 0;
  const agents: string[] = [];
  for (let round = 0; round < 6; round += 1) {
    const three = await Promise.all([serve(), serve(), serve()]);
    await Promise.all(
      three.map(async (server) => {
        for (let index = 0; index < 4; index += 1) {
          name += 1;
          const engine = random.between(0, 3) === 0 ? 'other' : 'step';
          const seconds = random.between(20, 300) / 1000;
          agents.push((await spawn(server, `${engine}-${name}`, seconds)).id);
        }
      })
    );
    await delay(random.between(0, 300));
    for (const server of three) server.child.kill('SIGKILL');
    await Promise.all(three.map(({ exited }) => exited));
  }
  const last = await serve();
  const { data } = await last.call('wait_for_agents', { agent_ids: agents });
  expect(data.status).toBe('all_completed');
  expect(mostAtWork('step')).toBeLessThanOrEqual(cap);
  expect(mostAtWork()).toBeLessThanOrEqual(maximum);
  // The slots of agents that were killed with their servers are free again.
  const { id, status } = await until('a place', async () => {
    const one = await spawn(last, 'step-last', 0);
    return one.status === 'running' ? one : undefined;
  });
  expect([id, status]).toEqual([id, 'running']);
});
