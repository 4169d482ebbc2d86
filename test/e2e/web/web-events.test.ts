import { appendFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { until } from '../../kit/judges/until.ts';
import { EventReader } from '../../kit/servers/event-reader.ts';
import { type McpClient, startServer } from '../../kit/servers/mcp-client.ts';
import {
  problemsOf,
  type StartedWeb,
  startWeb,
  tokenFor
} from '../../kit/servers/web-server.ts';
import {
  createTempWorkspace,
  type TempWorkspace
} from '../../kit/workspaces/temp-workspace.ts';

let workspace: TempWorkspace;
let server: McpClient;
let web: StartedWeb;
let token: string;
let readers: EventReader[];

beforeEach(async () => {
  workspace = createTempWorkspace();
  workspace.write('.trouperc.json', '{"engines": {"rehearsal": true}}');
  server = await startServer(workspace);
  web = await startWeb(workspace);
  token = await tokenFor(web, web.code);
  readers = [];
});

afterEach(async () => {
  for (const reader of readers) reader.cut();
  await web.end();
  expect(problemsOf(web)).toEqual([]);
  await server.close();
  workspace.remove();
});

function read(query: string): EventReader {
  const reader = new EventReader(web, token, query);
  readers.push(reader);
  return reader;
}

async function spawn(prompt: string): Promise<string> {
  const { data } = await server.call('spawn_rehearsal', { prompt });
  return String(data.agent_id);
}

/** What a rehearsal writes when it shows progress. */
function step(id: string, text: string): void {
  const line = JSON.stringify({ type: 'progress', text });
  appendFileSync(join(workspace.record, 'spawns', id, 'stdout'), `${line}\n`);
}

test('a page gets all rows, and then each change of one', async () => {
  const id = await spawn('progress first\nsleep 600');
  const reader = read('topics=board');
  const all = await reader.until('all rows', ({ data }) =>
    Boolean(data.board?.isAll)
  );
  expect(all.data.board?.rows).toContainEqual(
    expect.objectContaining({ id: 'totals' })
  );
  await until('the step', () => reader.row(id)?.doing === 'sleep 600');
  const before = reader.events.length;
  step(id, 'a new step');
  const change = await reader.until(
    'the change',
    ({ data }) =>
      data.board?.rows?.some(({ doing }) => doing === 'a new step') ?? false,
    before
  );
  expect(change.data.board?.isAll).toBe(false);
  expect(change.data.board?.rows).toHaveLength(1);
  await server.call('cancel_agent', { agent_id: id });
  await until('the end', () => reader.row(id)?.status === 'canceled');
});

test('a page that connects again gets only what it lacks', async () => {
  const still = await spawn('progress one\nsleep 600');
  const moving = await spawn('progress one\nsleep 600');
  const first = read('topics=board');
  await until('both', () =>
    [still, moving].every((id) => first.row(id)?.doing === 'sleep 600')
  );
  const { id: position } = first.events.findLast(({ id }) => id !== '') ?? {
    id: ''
  };
  first.cut();
  step(moving, 'while nobody looked');
  const second = read(`topics=board&after=${position}`);
  await until(
    'the change',
    () => second.row(moving)?.doing === 'while nobody looked'
  );
  expect(second.events.some(({ data }) => data.board?.isAll)).toBe(false);
  expect(second.row(still)).toBeUndefined();
});

test('a position of another server counts for nothing', async () => {
  const id = await spawn('sleep 600');
  const reader = read('topics=board&after=AAAAAAAA.999999');
  await reader.until('all rows', ({ data }) => Boolean(data.board?.isAll));
  await until('the agent', () => reader.row(id));
});

test('an open agent sends its steps and its text, and then what is added', async () => {
  const id = await spawn('progress first step\nsay Hello.\nsleep 600');
  const reader = read(`topics=board,agent:${id}`);
  await until('the first step', () =>
    reader.events.some(({ data }) =>
      data[`agent:${id}`]?.steps?.includes('first step')
    )
  );
  await until('the last step', () =>
    reader.events.some(({ data }) =>
      data[`agent:${id}`]?.steps?.includes('sleep 600')
    )
  );
  const before = reader.events.length;
  step(id, 'second step');
  const change = await reader.until(
    'the step',
    ({ data }) => data[`agent:${id}`] !== undefined,
    before
  );
  expect(change.data[`agent:${id}`]).toMatchObject({
    isAll: false,
    steps: ['second step'],
    text: ''
  });
});

test('a reader that does not read gets the newest state in the end, and not all of the old', async () => {
  workspace.write(
    'engines/plain.mjs',
    `export default {
      kind: 'cli',
      name: 'plain',
      description: 'Waits.',
      command: 'sleep',
      args: () => ['600']
    };`
  );
  workspace.write(
    'plain.config.json',
    '{"plugins": ["./engines/plain.mjs"], "engines": {"rehearsal": true}}'
  );
  await web.end();
  const flags = ['--trust', '--config', 'plain.config.json'];
  const other = await startServer(workspace, { flags });
  const { data } = await other.call('spawn_plain', { prompt: 'wait' });
  const id = String(data.agent_id);
  web = await startWeb(workspace, [...flags, '--engines', 'plain']);
  token = await tokenFor(web, web.code);
  const [slow, fast] = [read(`topics=agent:${id}`), read(`topics=agent:${id}`)];
  await until('both are connected', () => slow.bytes > 0 && fast.bytes > 0);
  slow.pause();
  const stdout = join(workspace.record, 'spawns', id, 'stdout');
  const chunk = `${'x'.repeat(1023)}\n`.repeat(64);
  for (let number = 0; number < 120; number += 1) {
    appendFileSync(stdout, `${chunk}line ${number}\n`);
    await until('the fast reader has it', () =>
      saysOf(fast, id).endsWith(`line ${number}\n`)
    );
  }
  slow.resume();
  await until('the slow reader has it', () =>
    saysOf(slow, id).endsWith('line 119\n')
  );
  // What the system buffers for the connection is all that is old.
  expect(slow.bytes).toBeLessThan(0.9 * fast.bytes);
  await other.close();
}, 120_000);

/** The newest text of an agent that the reader has. */
function saysOf({ events }: EventReader, id: string): string {
  const newest = events.findLast(({ data }) => data[`agent:${id}`]);
  return newest?.data[`agent:${id}`]?.text ?? '';
}

test('the end of the server is the last event', async () => {
  const reader = read('topics=board');
  await reader.until('all rows', ({ data }) => Boolean(data.board?.isAll));
  expect(await web.end()).toBe(0);
  await until('the end', () => reader.isOver);
  expect(reader.events.at(-1)?.name).toBe('end');
});
