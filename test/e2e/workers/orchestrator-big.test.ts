import { readFileSync, statSync } from 'node:fs';
import { isAbsolute } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { z } from 'zod';
import type { McpClient } from '../../kit/servers/mcp-client.ts';
import {
  answerOf,
  createdWorker,
  enqueued,
  eventsOf,
  taskEnd,
  workerSeen,
  workersSeen
} from '../../kit/servers/orchestrator-calls.ts';
import {
  createOrchestratorStage,
  type OrchestratorStage
} from '../../kit/servers/orchestrator-stage.ts';

let stage: OrchestratorStage;
let master: McpClient;

beforeAll(async () => {
  stage = createOrchestratorStage('process');
  master = await stage.serve();
});

afterAll(() => stage?.close());

const wait = { timeout_ms: 20_000 };
/** Five megabytes of JSON, with all that is hard to write and to count. */
const big = {
  text: `ä😀\u2028"\\\n${'x'.repeat(1000)}`.repeat(5000),
  n: [1, null]
};

const givenSchema = z.object({
  status: z.literal('command'),
  command: z.looseObject({ task_id: z.string() })
});

async function given(desk: McpClient) {
  return givenSchema.parse(await answerOf(desk, 'wait_for_command', wait))
    .command;
}

describe('payloads of workers', () => {
  test('of five megabytes reach a worker byte for byte', async () => {
    const { id, desk } = await stage.puppet(master);
    expect(await enqueued(master, id, 'big', big)).toBe(0);
    const { payload, payload_file } = await given(desk);
    expect(payload).toBeUndefined();
    const file = String(payload_file);
    expect(isAbsolute(file)).toBe(true);
    expect(readFileSync(file, 'utf8') === JSON.stringify(big)).toBe(true);
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(file.startsWith(stage.file(id, 'artifacts'))).toBe(true);
    const inbox = statSync(stage.file(id, 'inbox.jsonl'));
    expect(inbox.size).toBeLessThan(1000);
  });

  test('of five megabytes reach a master byte for byte', async () => {
    const { id, desk } = await stage.puppet(master);
    await enqueued(master, id, 'asks');
    await given(desk);
    const event = { type: 'result', payload: big, done: true };
    await answerOf(desk, 'emit_event', event);
    const end = await taskEnd(master, id, 'asks');
    expect(end).toMatchObject({ type: 'result', done: true });
    expect(end.payload).toBeUndefined();
    const text = readFileSync(end.payload_file ?? '', 'utf8');
    expect(text === JSON.stringify(big)).toBe(true);
  });

  test('of five megabytes are performed by a worker', async () => {
    const { agent_id } = await createdWorker(master);
    const script = `${'say x\n'.repeat(3)}${' '.repeat(5e6)}\nsay the end`;
    await enqueued(master, agent_id, 'script', { script });
    const end = await taskEnd(master, agent_id, 'script');
    expect(end).toMatchObject({ type: 'result' });
    expect(JSON.stringify(end.payload)).toContain('the end');
  });

  test.each([
    [null],
    [0],
    [''],
    [false],
    [[]],
    [{}],
    ['text'],
    [[{ a: { b: [{}] } }]]
  ])('%j is returned unchanged', async (payload) => {
    const { id, desk } = await stage.puppet(master);
    await enqueued(master, id, 'told', payload);
    expect(await given(desk)).toEqual({
      type: 'task',
      task_id: 'told',
      payload
    });
    await answerOf(desk, 'emit_event', { type: 'result', payload });
    const end = await taskEnd(master, id, 'told');
    expect(end.payload).toEqual(payload);
  });

  test('that have no room in an answer are cut in it, with a pointer', async () => {
    const { id, desk } = await stage.puppet(master);
    const payload = { text: '€'.repeat(20_000) };
    await answerOf(desk, 'emit_event', { type: 'note', payload });
    await answerOf(desk, 'emit_event', { type: 'note', payload: 'short' });
    const read = { agent_id: id, since_seq: 1 };
    const { data, text } = await master.call('events_read', read);
    expect(text.length).toBeLessThan(21_000);
    expect(text).toContain(`${'€'.repeat(1000)}\\"}`);
    expect(data).toMatchObject({
      events: [
        {
          type: 'note',
          truncated: true,
          total_chars: JSON.stringify(payload).length,
          full_output: stage.file(id, 'outbox.jsonl')
        }
      ],
      last_seq: 2,
      more: true
    });
    const [, line] = stage.lines(stage.file(id, 'outbox.jsonl'));
    expect(line?.payload).toEqual(payload);
  });
});

describe('a queue of three hundred tasks', () => {
  test('has them all, and is returned in bounds', async () => {
    const { id, desk } = await stage.puppet(master);
    const names = Array.from({ length: 300 }, (_, index) => `task-${index}`);
    const positions = await Promise.all(
      names.map((name) => enqueued(master, id, name, { name }))
    );
    expect(positions).toEqual(names.map((_, index) => index));
    const seen = await workerSeen(master, id);
    expect(seen).toMatchObject({ queue_depth: 300, running_task_id: null });
    const { length } = z.array(z.string()).parse(seen.queued_task_ids);
    expect(length).toBeGreaterThan(99);
    expect(seen.queued_task_ids).toEqual(names.slice(0, length));
    for (const name of names) {
      expect(await given(desk)).toMatchObject({
        task_id: name,
        payload: { name }
      });
      const event = { type: 'result', task_id: name, payload: { name } };
      await answerOf(desk, 'emit_event', event);
    }
    const events = await eventsOf(master, id);
    const ends = events.filter(({ done }) => done);
    expect(ends.map(({ task_id }) => task_id)).toEqual(names);
    expect(await workerSeen(master, id)).toMatchObject({
      status: 'ready',
      queue_depth: 0
    });
    const { text } = await master.call('events_read', { agent_id: id });
    expect(text.length).toBeLessThan(20_500);
  });
});

describe('a client that takes short answers', () => {
  const answerBytes = 11_500;

  test('gets its tasks by reference before they would be cut', async () => {
    const { id } = await stage.puppet(master);
    const desk = await stage.serveWorker(id, {
      clientName: 'codex-mcp-client'
    });
    const payload = { text: '😀'.repeat(4000) };
    await enqueued(master, id, 'wide', payload);
    const { data, text } = await desk.call('wait_for_command', wait);
    expect(Buffer.byteLength(text)).toBeLessThanOrEqual(answerBytes);
    const { command } = givenSchema.parse(data);
    const file = String(command.payload_file);
    expect(JSON.parse(readFileSync(file, 'utf8'))).toEqual(payload);
    await answerOf(desk, 'emit_event', { type: 'result' });
    const narrow = { text: 'x'.repeat(8000) };
    await enqueued(master, id, 'narrow', narrow);
    expect(await given(desk)).toMatchObject({ payload: narrow });
  });

  test('gets all events in answers that fit', async () => {
    const { id, desk } = await stage.puppet(master);
    for (let index = 0; index < 12; index += 1) {
      const payload = { index, text: 'é'.repeat(1500) };
      await answerOf(desk, 'emit_event', { type: 'note', payload });
    }
    const small = await stage.serve({ clientName: 'codex-mcp-client' });
    const sizes: number[] = [];
    const got: unknown[] = [];
    for (let since_seq = 0, more: unknown = true; more; ) {
      const read = { agent_id: id, since_seq };
      const { data, text } = await small.call('events_read', read);
      sizes.push(Buffer.byteLength(text));
      if (Array.isArray(data.events)) got.push(...data.events);
      since_seq = Number(data.last_seq);
      more = data.more;
    }
    expect(Math.max(...sizes)).toBeLessThanOrEqual(answerBytes);
    expect(got).toEqual(stage.lines(stage.file(id, 'outbox.jsonl')));
  });

  test('gets the beginning of a long role, and its path', async () => {
    const role = `You are ${'very '.repeat(2000)}careful.`;
    const { id } = await stage.puppet(master, { role });
    const [listed] = (await workersSeen(master)).filter(
      ({ agent_id }) => agent_id === id
    );
    expect(role.startsWith(listed?.role.slice(0, -1) ?? '')).toBe(true);
    expect(listed?.role.length).toBeLessThan(100);
    const small = await stage.serve({ clientName: 'codex-mcp-client' });
    const { text } = await small.call('agent_get', { agent_id: id });
    expect(Buffer.byteLength(text)).toBeLessThanOrEqual(answerBytes);
    const seen = await workerSeen(small, id);
    expect(seen).toMatchObject({ truncated: true, total_chars: role.length });
    expect(role.startsWith(seen.role)).toBe(true);
    const meta = readFileSync(String(seen.full_output), 'utf8');
    expect(JSON.parse(meta).role).toBe(role);
  });
});
