import { mkdirSync, rmdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { until } from '../../kit/judges/until.ts';
import { type McpClient, startServer } from '../../kit/servers/mcp-client.ts';
import {
  createdWorker,
  enqueued,
  holding
} from '../../kit/servers/orchestrator-calls.ts';
import {
  actedIn,
  bodyOf,
  faultOf,
  journalOf,
  problemsOf,
  type StartedWeb,
  startWeb,
  type WebClient,
  webClient
} from '../../kit/servers/web-server.ts';
import {
  createTempWorkspace,
  type TempWorkspace
} from '../../kit/workspaces/temp-workspace.ts';

let workspace: TempWorkspace;
let server: McpClient;
let web: StartedWeb;
let client: WebClient;
let workers: string[];

beforeEach(async () => {
  workers = [];
  workspace = createTempWorkspace();
  configure();
  server = await startServer(workspace, {
    flags: ['--engine', 'rehearsal', '--toolsets', 'all']
  });
  web = await startWeb(workspace);
  client = await webClient(web);
});

afterEach(async () => {
  expect(await web.end()).toBe(0);
  expect(problemsOf(web)).toEqual([]);
  for (const agent_id of workers)
    await server.call('agent_delete', { agent_id, force: true, confirm: true });
  await server.close();
  workspace.remove();
});

function configure(more: Record<string, unknown> = {}): void {
  workspace.write(
    '.trouperc.json',
    JSON.stringify({
      engines: { rehearsal: true },
      orchestrator: { backend: 'process', engine: 'rehearsal' },
      ...more
    })
  );
}

async function worker(args: Record<string, unknown> = {}): Promise<string> {
  const { agent_id: id } = await createdWorker(server, args);
  workers.push(id);
  return id;
}

interface ShownWorker {
  status: string;
  is_stopping: boolean;
  tasks: Record<string, unknown>[];
  events: { type: string; task_id: string | null; payload: string }[];
}

async function shown(): Promise<ShownWorker> {
  const { workers } = await client.get('/web/workers');
  return (workers as [ShownWorker])[0];
}

const resultIn = () =>
  until('the result', async () =>
    (await shown()).events.find(({ type }) => type === 'result')
  );

test('a worker gets a task from the page once, does it, and the journal has who sent it', async () => {
  const id = await worker();
  const path = `/web/workers/${id}/tasks`;
  const task = { task_id: 'page-1', text: 'say The table is there.' };
  // The first response may be lost.
  for (const position of [0, null])
    expect(bodyOf(await client.post(path, task))).toEqual({
      task_id: 'page-1',
      position
    });
  const result = await resultIn();
  expect(result.payload).toContain('The table is there.');
  expect(actedIn(workspace)).toEqual([
    [id, 'task_sent', 'page-1: say The table is there.', 'from the page']
  ]);
});

test('a waiting task is canceled, and a running one is asked to end', async () => {
  const id = await worker();
  const send = (task_id: string, text: string) =>
    client.post(`/web/workers/${id}/tasks`, { task_id, text });
  const cancel = async (task_id: string) =>
    client.post(`/web/workers/${id}/cancel`, { task_id });
  await send('first', holding);
  await send('second', 'say second');
  await until('the first task', async () => {
    const { tasks } = await shown();
    return tasks[0]?.is_running ? true : undefined;
  });
  expect((await shown()).tasks[1]).toMatchObject({
    id: 'second',
    what: 'say second',
    is_running: false
  });
  expect(bodyOf(await cancel('second')).state).toBe('canceled');
  expect(bodyOf(await cancel('first')).state).toBe('cancel_requested');
  await until('an empty queue', async () => {
    const { tasks } = await shown();
    return tasks.length === 0 ? true : undefined;
  });
  expect(faultOf(await cancel('first')).slice(0, 2)).toEqual([
    409,
    'already_done'
  ]);
  expect(faultOf(await cancel('none')).slice(0, 2)).toEqual([
    404,
    'unknown_task'
  ]);
  expect(actedIn(workspace).slice(2)).toEqual([
    [id, 'task_cancel_requested', 'second', 'from the page'],
    [id, 'task_cancel_requested', 'first', 'from the page']
  ]);
});

test('a worker is stopped from the page after its tasks, or at once', async () => {
  const id = await worker();
  const stop = async (force: boolean) =>
    bodyOf(await client.post(`/web/workers/${id}/stop`, { force }));
  const path = `/web/workers/${id}/tasks`;
  await client.post(path, { task_id: 'long', text: 'sleep 600' });
  expect(await stop(false)).toMatchObject({ agent_id: id });
  expect(await shown()).toMatchObject({ is_stopping: true });
  const late = await client.post(path, { task_id: 'late', text: 'say late' });
  expect(faultOf(late).slice(0, 2)).toEqual([409, 'agent_over']);
  expect(await stop(true)).toEqual({ agent_id: id, status: 'stopped' });
  await stop(true);
  await stop(false);
  expect(await shown()).toMatchObject({ status: 'stopped', tasks: [] });
  expect(actedIn(workspace).slice(1)).toEqual([
    [id, 'stop_requested', 'after its tasks', 'from the page'],
    [id, 'stop_requested', 'at once', 'from the page']
  ]);
});

test('a worker with more access than the configuration allows gets no task', async () => {
  const id = await worker({ access: 'full' });
  await web.end();
  web = await startWeb(workspace, ['--max-access', 'write']);
  client = await webClient(web);
  const answer = await client.post(`/web/workers/${id}/tasks`, {
    task_id: 'page-1',
    text: 'say no'
  });
  expect(faultOf(answer)).toEqual([
    403,
    'not_yours',
    `Worker ${id} has full access, and the configuration allows write.`
  ]);
  expect((await shown()).tasks).toEqual([]);
});

test('a task is canceled whatever its id, and a long one is shown by its beginning', async () => {
  const id = await worker();
  await enqueued(server, id, 'first', holding);
  const ids = ['familie 👩‍👧', ' lead', 'a\u202eb'];
  for (const task_id of ids) await enqueued(server, id, task_id);
  await enqueued(server, id, 'long', `say ${'long '.repeat(20_000)}`);
  const waiting = (await shown()).tasks.filter(({ task_id: one }) =>
    ids.includes(String(one))
  );
  expect(waiting).toHaveLength(3);
  for (const { task_id } of waiting) {
    const answer = await client.post(`/web/workers/${id}/cancel`, { task_id });
    expect(bodyOf(answer).state).toBe('canceled');
  }
  const { tasks } = await shown();
  expect(tasks.at(-1)?.what).toMatch(
    /^100,00\d bytes in artifacts\/payload-\w+\.json: "say long long/
  );
});

test('what is done is said to be done though the journal cannot be written', async () => {
  const id = await worker();
  const journal = join(workspace.record, 'iac.jsonl');
  mkdirSync(journal);
  try {
    const body = { task_id: 'page-1', text: 'say Done.' };
    const answer = bodyOf(await client.post(`/web/workers/${id}/tasks`, body));
    expect(answer.warning).toMatch(
      /^This is done, but the journal lacks it: .*iac\.jsonl cannot be written \(EISDIR\)\.$/
    );
    await resultIn();
  } finally {
    rmdirSync(journal);
  }
  expect(web.command.stderr).toContain('EISDIR');
  web.command.stderr = '';
});

test('a lower ceiling in the configuration counts at the next task', async () => {
  const id = await worker({ access: 'full' });
  configure({ maxAccess: 'write' });
  const body = { task_id: 'page-1', text: 'say no' };
  const answer = await client.post(`/web/workers/${id}/tasks`, body);
  expect(faultOf(answer).slice(0, 2)).toEqual([403, 'not_yours']);
});

test('a person responds in the council under a name that no agent can take', async () => {
  await server.call('start_council', { agent_name: 'one', request: 'Tabs?' });
  const { session } = await client.get('/web/council');
  const { id: session_id } = session as { id: string };
  const [content, request_id] = ['Spaces, for the formatter.', 'page-12345678'];
  const body = { session_id, request_id, content };
  for (const time of ['first', 'again']) {
    const answer = bodyOf(await client.post('/web/council/respond', body));
    const expected = { agent_name: 'person', response_id: request_id };
    expect(answer, time).toEqual(expected);
  }
  for (const agent_name of ['person', 'Person (from the page)', '@person'])
    for (const [tool, args] of [
      ['send_response', { content: 'Tabs.' }],
      ['start_council', { request: 'Tabs!' }],
      ['summon_agent', { engine: 'rehearsal' }]
    ] as const) {
      const { isError, data } = await server.call(tool, {
        agent_name,
        ...args
      });
      expect(isError, `${tool} ${agent_name}`).toBe(true);
      expect(data.error).toContain('is for people');
    }
  const council = await client.get('/web/council');
  expect(council.responses).toMatchObject([
    { author: 'person', by: 'person', content }
  ]);
  const { data } = await server.call('join_council', { agent_name: 'two' });
  expect(data.responses).toMatchObject([{ author: 'person', by: 'person' }]);
  expect(actedIn(workspace)).toEqual([
    ['', 'responded', content, 'from the page']
  ]);
});

test('a response to a council that was replaced meanwhile is refused', async () => {
  await server.call('start_council', { agent_name: 'one', request: 'Tabs?' });
  const { session } = await client.get('/web/council');
  const { id: session_id } = session as { id: string };
  await server.call('start_council', { agent_name: 'one', request: 'Go?' });
  const body = { session_id, content: 'Spaces.' };
  const answer = await client.post('/web/council/respond', body);
  expect(faultOf(answer).slice(0, 2)).toEqual([409, 'session_replaced']);
  const summons = { session_id, engine: 'rehearsal' };
  const refused = await client.post('/web/council/summon', summons);
  expect(faultOf(refused).slice(0, 2)).toEqual([409, 'session_replaced']);
  const after = await client.get('/web/council');
  expect([after.responses, after.summons]).toEqual([[], []]);
});

test('nothing counts as of a person in a page that an agent has started', async () => {
  await server.call('start_council', { agent_name: 'one', request: 'Tabs?' });
  await web.end();
  web = await startWeb(workspace, [], { TROUPE_DEPTH: '1' });
  client = await webClient(web);
  const { session } = await client.get('/web/council');
  const { id: session_id } = session as { id: string };
  const body = { session_id, content: 'Spaces.' };
  const answer = await client.post('/web/council/respond', body);
  expect(faultOf(answer).slice(0, 2)).toEqual([403, 'not_yours']);
  expect(await client.get('/web/council')).toMatchObject({ responses: [] });
});

test('an agent is summoned from the page, and its answer is a response', async () => {
  await server.call('start_council', {
    agent_name: 'one',
    request: 'say Tabs.'
  });
  expect(await client.get('/web/council')).toMatchObject({
    engines: ['rehearsal']
  });
  const path = '/web/council/summon';
  const summoned = bodyOf(await client.post(path, { engine: 'rehearsal' }));
  expect(summoned).toMatchObject({ agent_name: 'rehearsal', error: null });
  await until('its response', async () => {
    const { responses_total } = await client.get('/web/council');
    return responses_total === 1 ? true : undefined;
  });
  expect(journalOf(workspace)).toContainEqual(
    expect.objectContaining({
      type: 'spawned',
      agent_id: summoned.agent_id,
      client: 'troupe web',
      access: 'read'
    })
  );
  const unknown = await client.post(path, { engine: 'none' });
  expect(faultOf(unknown)[1]).toBe('unknown_engine');
  await server.call('close_council', { agent_name: 'one', conclusion: 'Tabs' });
  const closed = await client.post(path, { engine: 'rehearsal' });
  expect(faultOf(closed).slice(0, 2)).toEqual([409, 'council_closed']);
});

test.each([
  ['/web/workers/1a2b3c4d/tasks', { task_id: 'x', text: ' ' }, 'text is empty'],
  ['/web/workers/1a2b3c4d/tasks', { text: 'x' }, 'task_id'],
  [
    '/web/workers/1a2b3c4d/tasks',
    { task_id: 'a\nb', text: 'x' },
    'task_id is not one line'
  ],
  ['/web/workers/1a2b3c4d/cancel', {}, 'task_id'],
  ['/web/workers/1a2b3c4d/stop', { force: 'yes' }, 'force'],
  [
    '/web/council/respond',
    { session_id: 'x', content: '' },
    'content is empty'
  ],
  ['/web/council/summon', { engine: '' }, 'engine is empty']
])('%s refuses %j in one sentence', async (path, body, part) => {
  const [status, code, message] = faultOf(await client.post(path, body));
  expect([status, code]).toEqual([400, 'invalid_input']);
  expect(message).toContain(part);
  expect(message).toMatch(/^The request is invalid: [^.]*\.$/);
});

test('an unknown worker is refused with the next step', async () => {
  const path = '/web/workers/1a2b3c4d';
  for (const [name, body] of [
    ['tasks', { task_id: 'x', text: 'x' }],
    ['cancel', { task_id: 'x' }],
    ['stop', { force: true }]
  ] as const) {
    const answer = await client.post(`${path}/${name}`, body);
    expect(faultOf(answer).slice(0, 2)).toEqual([404, 'unknown_agent']);
  }
});
