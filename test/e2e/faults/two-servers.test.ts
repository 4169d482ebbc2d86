import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { parseIac } from '../../kit/judges/iac-parser.ts';
import { seededRandom } from '../../kit/judges/random.ts';
import { until } from '../../kit/judges/until.ts';
import {
  type McpClient,
  startServer,
  type ToolResult
} from '../../kit/servers/mcp-client.ts';
import {
  createStepWorkspace,
  type Step,
  type StepWorkspace,
  stepPrompt
} from '../../kit/workspaces/step-workspace.ts';

const random = seededRandom('two-servers');
const maximum = 8;

let workspace: StepWorkspace;
let one: McpClient;
let two: McpClient;

beforeEach(async () => {
  workspace = createStepWorkspace();
  const env = { TROUPE_MAX_CONCURRENT: String(maximum) };
  [one, two] = await Promise.all([
    startServer(workspace, { env }),
    startServer(workspace, { env })
  ]);
});

afterEach(async () => {
  for (const server of [one, two]) server.child.kill('SIGCONT');
  await Promise.all([one.close(), two.close()]);
  expect([...one.impurities, ...two.impurities]).toEqual([]);
  expect(one.stderr + two.stderr).toBe('');
  workspace.remove();
});

function spawn(
  server: McpClient,
  name: string,
  seconds = random.between(0, 60) / 1000,
  more: Record<string, unknown> = {}
): Promise<ToolResult> {
  const prompt = stepPrompt(name, seconds);
  return server.call('spawn_step', { prompt, ...more });
}

async function ids(spawned: Promise<ToolResult>[]): Promise<string[]> {
  return (await Promise.all(spawned)).map(({ data }) => String(data.agent_id));
}

function many(
  server: McpClient,
  letter: string,
  count: number,
  seconds?: number
) {
  return Array.from({ length: count }, (_, index) =>
    spawn(server, `${letter}${index + 1}`, seconds)
  );
}

function wait(server: McpClient, agent_ids: string[], timeout = 45) {
  return server.call('wait_for_agents', { agent_ids, timeout });
}

describe('two servers on one workspace', () => {
  test('each follows the agents of the other to their end', async () => {
    const [first = ''] = await ids([spawn(one, 'a0', 1)]);
    expect(active(await two.call('list'))).toEqual([first]);
    const [mine, theirs] = await Promise.all([
      ids(many(one, 'a', 59)),
      ids(many(two, 'b', 60))
    ]);
    mine.push(first);
    expect(new Set([...mine, ...theirs]).size).toBe(120);

    const waited = await Promise.all([wait(one, theirs), wait(two, mine)]);
    for (const { data } of waited) expect(data.status).toBe('all_completed');
    for (const [id, server] of [
      ...mine.map((id) => [id, two] as const),
      ...theirs.map((id) => [id, one] as const)
    ]) {
      const { data } = await server.call('result', { agent_id: id });
      expect(data).toMatchObject({ status: 'completed', success: true });
      expect(data.result).toMatch(/^did [ab]\d+$/);
    }
    const lists = await Promise.all(
      [one, two].map((server) => server.call('list', { limit: 100 }))
    );
    for (const { data } of lists) {
      expect(data).toMatchObject({ running: [], queued: [] });
      expect(data.completed_ids).toHaveLength(100);
    }
    expect(lists[0]?.data.completed_ids).toEqual(lists[1]?.data.completed_ids);

    await vi.waitFor(() => everyEntryIsDone([...mine, ...theirs]), 2000);
    const verified = await workspace.verify();
    expect(verified).toMatchObject({ faults: [], torn: 0, records: 240 });
    expect(verified.heads).toHaveLength(2);
    expect(workspace.steps().filter(isStart)).toHaveLength(120);
  });

  test('never have more agents at work than the workspace may', async () => {
    workspace.write('step.sh', `${untilReleased}echo "end $name" >>steps.log`);
    const [mine, theirs] = await Promise.all([
      ids(many(one, 'a', 12, 0)),
      ids(many(two, 'b', 12, 0))
    ]);
    await startedAre(maximum);
    for (let index = 1; index <= 12; index += 1)
      for (const letter of 'ab') workspace.write(`go-${letter}${index}`, '');
    await wait(one, [...mine, ...theirs]);
    expect(started()).toHaveLength(24);
    let atWork = 0;
    let most = 0;
    for (const step of workspace.steps()) {
      atWork += isStart(step) ? 1 : -1;
      most = Math.max(most, atWork);
    }
    expect(most).toBe(maximum);
  });

  test('get places by turns, however long the queue of one is', async () => {
    workspace.write('step.sh', untilReleased);
    const queue = await ids(many(one, 'a', 40, 0));
    await startedAre(maximum);
    await ids([spawn(two, 'b', 0)]);
    // One place after the other becomes free, each of an agent of `one`.
    let turns = 0;
    while (!started().includes('b') && turns < 20) {
      workspace.write(`go-${started()[turns]}`, '');
      turns += 1;
      await startedAre(maximum + turns);
    }
    expect(started()).toContain('b');
    await Promise.all(
      queue.map((agent_id) => one.call('cancel_agent', { agent_id }))
    );
    workspace.write('go-b', '');
  }, 60_000);

  test('start one agent for one request id sent to both at once', async () => {
    const names = Array.from({ length: 40 }, (_, index) => `r${index}`);
    const answers = await Promise.all(
      names.map((name) =>
        Promise.all(
          [one, two, one].map((server) =>
            spawn(server, name, 0, { request_id: `request ${name}` })
          )
        )
      )
    );
    const agents = answers.map((three) => {
      for (const answer of three) expect(answer.isError).toBe(false);
      const different = new Set(three.map(({ data }) => data.agent_id));
      expect(different.size).toBe(1);
      return String(three[0]?.data.agent_id);
    });
    const { data } = await wait(one, agents);
    expect(data.status).toBe('all_completed');
    const started = workspace.steps().filter(isStart);
    expect(started.map(({ name }) => name).sort()).toEqual(names.sort());
  });

  test('a paused server delays the other in nothing', async () => {
    const mine = await ids(
      Array.from({ length: maximum - 1 }, (_, index) =>
        spawn(one, `p${index}`, 0.3)
      )
    );
    one.child.kill('SIGSTOP');
    const began = performance.now();
    const [own = ''] = await ids([spawn(two, 'own', 0)]);
    expect(performance.now() - began).toBeLessThan(1000);
    expect((await wait(two, [own])).data.status).toBe('all_completed');
    const waited = await wait(two, mine);
    expect(waited.data.status).toBe('all_completed');
    expect(performance.now() - began).toBeLessThan(3000);
    for (const id of mine) {
      const { data } = await two.call('result', { agent_id: id });
      expect(data.status).toBe('completed');
    }
    await vi.waitFor(() => everyEntryIsDone([...mine, own]), 1500);

    one.child.kill('SIGCONT');
    const after = await wait(one, [...mine, own]);
    expect(after.data.status).toBe('all_completed');
    expect(await workspace.verify()).toMatchObject({ faults: [] });
    // What it rendered before it was paused may still come.
    await vi.waitFor(() => everyEntryIsDone([...mine, own]), 1500);
  });
});

/** A stand-in that ends when there is a file with its name. */
const untilReleased = `read -r name rest
echo "start $name" >>steps.log
until [ -e "go-$name" ]; do sleep 0.05; done
`;

/** Names of the started agents, in order. */
function started(): string[] {
  return workspace
    .steps()
    .filter(isStart)
    .map(({ name }) => name);
}

async function startedAre(count: number): Promise<void> {
  await until(`${count} starts`, () => started().length >= count);
}

/** The parts of an answer are checked here, once. */
function active({ data }: ToolResult): string[] {
  const rows = [data.running, data.queued].flatMap((value) =>
    Array.isArray(value) ? value : []
  );
  return rows.map((row) => String(Reflect.get(Object(row), 'id')));
}

function everyEntryIsDone(agents: string[]): void {
  const { entries } = parseIac(workspace.iac());
  expect(entries.map(({ id }) => id).sort()).toEqual([...agents].sort());
  for (const { done, word, title, output } of entries) {
    expect({ done, word }).toEqual({ done: true, word: 'Done' });
    expect(output?.text).toBe(`did ${title.split(' ')[0]}`);
  }
}

function isStart({ what }: Step): boolean {
  return what === 'start';
}
