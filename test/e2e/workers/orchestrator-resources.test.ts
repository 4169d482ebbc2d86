import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import {
  afterAll,
  beforeAll,
  describe,
  expect,
  onTestFinished,
  test
} from 'vitest';
import { until } from '../../kit/judges/until.ts';
import type { McpClient } from '../../kit/servers/mcp-client.ts';
import {
  answerOf,
  createdWorker,
  enqueued,
  eventsOf,
  taskEnd,
  workerIs,
  workerSeen
} from '../../kit/servers/orchestrator-calls.ts';
import {
  createOrchestratorStage,
  type OrchestratorStage
} from '../../kit/servers/orchestrator-stage.ts';
import {
  eventsRead,
  resourceRead,
  resourcesListed
} from '../../kit/servers/resource-calls.ts';

const hello = {
  protocolVersion: '2025-11-25',
  capabilities: {},
  clientInfo: { name: 'troupe-test', version: '1' }
};

describe('the resources of a server', () => {
  let stage: OrchestratorStage;
  let master: McpClient;
  let worker: Awaited<ReturnType<typeof createdWorker>>;
  let agent: string;
  let run: string;

  beforeAll(async () => {
    stage = createOrchestratorStage('process');
    master = await stage.serve();
    worker = await createdWorker(master, { name: 'Ada' });
    agent = `agent://${worker.agent_id}`;
    run = `run://${worker.run_id}`;
    await enqueued(master, worker.agent_id, 'one', 'say 1\nsay 2');
    await taskEnd(master, worker.agent_id, 'one');
    await workerIs(master, worker.agent_id, 'ready');
  });

  afterAll(() => stage?.close());

  test('are announced, and can be followed, with the toolset', async () => {
    const server = await stage.serve({ raw: true });
    const { capabilities } = await server.request('initialize', hello);
    expect(capabilities).toEqual({
      tools: {},
      resources: { subscribe: true, listChanged: true },
      completions: {}
    });
  });

  test('are not there without it', async () => {
    const flags = ['--toolsets', 'spawn,runs,squad,council'];
    const server = await stage.serve({ flags });
    const listed = await resourcesListed(server);
    expect(listed.filter(({ uri }) => uri.startsWith('agent:'))).toEqual([]);
    await expect(resourceRead(server, `${agent}/meta`)).rejects.toThrow(
      '-32002: This server has no resources of workers: they go with the toolset orchestrator.'
    );
  });

  test('are not there for a worker', async () => {
    const desk = await stage.serveWorker(worker.agent_id);
    const uri = `${agent}/meta`;
    await expect(desk.request('resources/read', { uri })).rejects.toThrow(
      '-32601'
    );
  });

  test('are listed: the broadcast, outboxes and metas', async () => {
    const listed = await resourcesListed(master);
    expect(listed).toEqual([
      {
        uri: `${run}/broadcast`,
        name: `broadcast of run ${worker.run_id}`,
        description:
          'Results and states of all workers of a run, the newest 200.',
        mimeType: 'application/x-ndjson'
      },
      {
        uri: `${agent}/outbox`,
        name: 'outbox of Ada',
        description: 'Events of a worker, the newest 200.',
        mimeType: 'application/x-ndjson'
      },
      {
        uri: `${agent}/meta`,
        name: 'meta of Ada',
        description: 'A worker as agent_get returns it.',
        mimeType: 'application/json'
      }
    ]);
    for (const { uri, mimeType } of listed)
      expect(await resourceRead(master, uri)).toMatchObject([
        { uri, mimeType }
      ]);
  });

  test('have templates for all that can be read', async () => {
    const { resourceTemplates } = await master.request(
      'resources/templates/list'
    );
    expect(resourceTemplates).toMatchObject([
      { uriTemplate: 'agent://{agent_id}/outbox', name: 'outbox' },
      { uriTemplate: 'agent://{agent_id}/outbox{?tail}', name: 'outbox-tail' },
      { uriTemplate: 'agent://{agent_id}/meta', name: 'meta' },
      { uriTemplate: 'run://{run_id}/broadcast', name: 'broadcast' },
      {
        uriTemplate: 'run://{run_id}/broadcast{?tail}',
        name: 'broadcast-tail'
      }
    ]);
  });

  test('show the same events as events_read', async () => {
    const events = await eventsOf(master, worker.agent_id);
    expect(events.length).toBeGreaterThan(4);
    expect(await eventsRead(master, `${agent}/outbox`)).toEqual(events);
    for (const tail of [1, 3, 1000])
      expect(await eventsRead(master, `${agent}/outbox?tail=${tail}`)).toEqual(
        events.slice(-tail)
      );
  });

  test('show the same worker as agent_get', async () => {
    const [content] = await resourceRead(master, `${agent}/meta`);
    expect(JSON.parse(content?.text ?? '')).toEqual(
      await workerSeen(master, worker.agent_id)
    );
  });

  test('fit, however long a brief is and however many tasks wait', async () => {
    const role = '火'.repeat(30_000);
    const { id } = await stage.puppet(master, { role });
    const names = Array.from({ length: 60 }, (_, index) =>
      `task ${index} `.padEnd(200, '火')
    );
    for (const name of names) await enqueued(master, id, name);
    const codex = await stage.serve({ clientName: 'codex-mcp-client' });
    const meta = await workerSeen(codex, id);
    expect(meta).toMatchObject({
      role: '火'.repeat(2000),
      truncated: true,
      total_chars: 30_000,
      full_output: stage.file(id, 'meta.json'),
      queue_depth: 60
    });
    expect(meta.queued_task_ids).toEqual(names.slice(0, 5));
    const [content] = await resourceRead(codex, `agent://${id}/meta`);
    expect(JSON.parse(content?.text ?? '')).toEqual(meta);
    expect(Buffer.byteLength(content?.text ?? '')).toBeLessThan(11_500);
  });

  test('show what the workers of a run came to', async () => {
    const told = await until('the end of the task', async () => {
      const all = await eventsRead(master, `${run}/broadcast`);
      const own = all.filter(({ agent_id }) => agent_id === worker.agent_id);
      return own.at(-1)?.type === 'result' ? own : undefined;
    });
    expect(told.map(({ type }) => type)).toEqual([
      'ready',
      'delivered',
      'result'
    ]);
    expect(await eventsRead(master, `${run}/broadcast?tail=1`)).toHaveLength(1);
  });

  test('show two hundred events by default', async () => {
    const { id, desk } = await stage.puppet(master);
    for (let count = 0; count < 210; count += 1)
      await answerOf(desk, 'emit_event', { type: 'progress', payload: count });
    const events = await eventsRead(master, `agent://${id}/outbox`);
    expect(events).toHaveLength(200);
    expect(events.at(-1)).toMatchObject({ seq: 211, payload: 209 });
    const all = await eventsRead(master, `agent://${id}/outbox?tail=1000`);
    expect(all.map(({ seq }) => seq)).toEqual(all.map((_, index) => index + 1));
    expect(all).toHaveLength(211);
  });

  test.each([
    'outbox?tail=0',
    'outbox?tail=-1',
    'outbox?tail=abc',
    'outbox?tail=1001',
    'outbox?tail=1e99',
    'meta?tail=1'
  ])('refuse %s, to read and to follow', async (rest) => {
    const uri = `${agent}/${rest}`;
    for (const method of ['resources/read', 'resources/subscribe'])
      await expect(master.request(method, { uri })).rejects.toThrow(
        /^-32602: (tail is one whole number|This resource has no parameter)/
      );
  });

  test.each([
    ['agent://00000000/outbox', 'There is no worker "00000000"'],
    ['agent://00000000/meta', 'There is no worker "00000000"'],
    ['agent://../outbox', 'There is no worker ".."'],
    ['run://00000000/broadcast', 'There is no run "00000000"'],
    ['run://../broadcast', 'There is no run ".."'],
    ['file:///etc/hosts', 'There is no resource "file:///etc/hosts"']
  ])('refuse %s as unknown, to read and to follow', async (uri, words) => {
    for (const method of ['resources/read', 'resources/subscribe'])
      await expect(master.request(method, { uri })).rejects.toThrow(
        `-32002: ${words}`
      );
  });

  test('are listed when the files of one are damaged, which its reader sees', async () => {
    const meta = readFileSync(worker.paths.meta, 'utf8');
    const spoilt = worker.agent_id.replace(/./g, 'e');
    const record = `workers/${spoilt}`;
    onTestFinished(() =>
      rmSync(join(stage.record, record), { recursive: true, force: true })
    );
    stage.writeRecord(`${record}/inbox.jsonl`, '');
    stage.writeRecord(`${record}/outbox.jsonl/file`, '');
    stage.writeRecord(
      `${record}/meta.json`,
      meta.replaceAll(worker.agent_id, spoilt)
    );
    const uris = (await resourcesListed(master)).map(({ uri }) => uri);
    expect(uris).toContain(`agent://${spoilt}/meta`);
    expect(uris).toContain(`${agent}/meta`);
    const reading = resourceRead(master, `agent://${spoilt}/outbox`);
    const outbox = join(stage.record, record, 'outbox.jsonl');
    await expect(reading).rejects.toThrow(`${outbox} is not a regular file`);
  });

  test('want a request to name one', async () => {
    for (const method of ['read', 'subscribe', 'unsubscribe'])
      await expect(master.request(`resources/${method}`)).rejects.toThrow(
        '-32602: The request names no resource: give its "uri".'
      );
  });
});
