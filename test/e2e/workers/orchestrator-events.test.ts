import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { McpClient } from '../../kit/servers/mcp-client.ts';
import {
  answerOf,
  createdWorker,
  enqueued,
  eventsOf,
  refusalOf,
  typesOf,
  workerSeen
} from '../../kit/servers/orchestrator-calls.ts';
import {
  createOrchestratorStage,
  type OrchestratorStage
} from '../../kit/servers/orchestrator-stage.ts';

let stage: OrchestratorStage;
let master: McpClient;
let id: string;
let desk: McpClient;

beforeAll(async () => {
  stage = createOrchestratorStage('process');
  master = await stage.serve();
  ({ id, desk } = await stage.puppet(master));
});

afterAll(() => stage?.close());

async function given(task_id: string): Promise<void> {
  await enqueued(master, id, task_id);
  const answer = await answerOf(desk, 'wait_for_command', {
    timeout_ms: 10_000
  });
  expect(answer).toMatchObject({ command: { task_id } });
}

const emit = (args: Record<string, unknown>) =>
  answerOf(desk, 'emit_event', args);

/** The code of a refusal, after which nothing is recorded. */
async function refused(args: Record<string, unknown>): Promise<string> {
  const before = await eventsOf(master, id);
  const { error_code } = await refusalOf(desk, 'emit_event', args);
  expect(await eventsOf(master, id)).toEqual(before);
  return error_code;
}

describe('emit_event', () => {
  test('records what a worker reports, numbered and unchanged', async () => {
    await given('told');
    const payload = { text: 'ä\u2028😀\0', deep: [{ a: null }], '': 0 };
    const { seq } = await emit({ type: 'progress', payload });
    expect(await emit({ type: 'note.own_kind:1', task_id: 'told' })).toEqual({
      ok: true,
      seq: Number(seq) + 1
    });
    await emit({ type: 'result', payload: 'a text', done: true });
    const events = await eventsOf(master, id, Number(seq) - 1);
    expect(events).toEqual(
      [
        { type: 'progress', task_id: 'told', payload },
        { type: 'note.own_kind:1', task_id: 'told' },
        { type: 'result', task_id: 'told', payload: 'a text', done: true }
      ].map((event, index) => ({
        ...event,
        seq: Number(seq) + index,
        at: expect.any(String)
      }))
    );
    expect(stage.lines(stage.file(id, 'outbox.jsonl'))).toEqual(
      await eventsOf(master, id)
    );
  });

  test.each(['result', 'error', 'canceled'])(
    'ends a task with %s once, and never again',
    async (type) => {
      const task_id = `ends-${type}`;
      await given(task_id);
      expect((await workerSeen(master, id)).running_task_id).toBe(task_id);
      await emit({ type });
      expect((await workerSeen(master, id)).running_task_id).toBeNull();
      for (const again of ['result', 'error', 'canceled'])
        for (const done of [{}, { done: true }])
          expect(await refused({ type: again, task_id, ...done })).toBe(
            'already_done'
          );
      const ends = (await eventsOf(master, id)).filter(
        (event) => event.task_id === task_id && event.done
      );
      expect(ends).toMatchObject([{ type, done: true }]);
    }
  );

  test('lets nothing but an end be done, and no end be undone', async () => {
    await given('rules');
    expect(await refused({ type: 'progress', done: true })).toBe(
      'invalid_input'
    );
    expect(await refused({ type: 'result', done: false })).toBe(
      'invalid_input'
    );
    await emit({ type: 'progress', done: false });
    await emit({ type: 'error', done: true, payload: { message: 'no' } });
    // None is running now.
    expect(await refused({ type: 'result' })).toBe('invalid_input');
  });

  test('ends no task that was not given yet', async () => {
    await given('first');
    await enqueued(master, id, 'waits');
    const early = { type: 'result', task_id: 'waits' };
    expect(await refused(early)).toBe('invalid_input');
    await emit({ type: 'result', task_id: 'first' });
    expect(await refused(early)).toBe('invalid_input');
    await answerOf(desk, 'wait_for_command', { timeout_ms: 10_000 });
    await emit(early);
  });

  test('takes no word that only troupe may say', async () => {
    const own = [
      'delivered',
      'requeued',
      'crashed',
      'restarted',
      'stalled',
      'resumed',
      'stopping',
      'stopped'
    ];
    for (const type of own)
      expect(await refused({ type }), type).toBe('invalid_input');
    expect(await refused({ type: 'progress', by: 'troupe' })).toBe(
      'invalid_input'
    );
  });

  test.each([
    [{}],
    [{ type: '' }],
    [{ type: 'two words' }],
    [{ type: '9' }],
    [{ type: 'x'.repeat(65) }],
    [{ type: 'ack', task_id: 'a\nb' }],
    [{ type: 'ack', task_id: 7 }],
    [{ type: 'ack', done: 'yes' }]
  ])('refuses %j', async (args) => {
    expect(await refused(args)).toBe('invalid_input');
  });

  test('knows no task that was never given', async () => {
    for (const type of ['ack', 'result'])
      expect(await refused({ type, task_id: 'never' })).toBe('unknown_task');
  });

  test('records that a worker is ready once, however often it reports it', async () => {
    const answer = await emit({ type: 'ready' });
    expect(answer).toEqual({ ok: true });
    await emit({ type: 'ready', payload: { again: true } });
    await answerOf(desk, 'wait_for_command', { timeout_ms: 0 });
    const types = typesOf(await eventsOf(master, id));
    expect(types.filter((type) => /ready/.test(type))).toEqual(['ready']);
  });

  test('belongs to one worker alone', async () => {
    const other = await createdWorker(master);
    const before = await eventsOf(master, other.agent_id);
    for (const agent_id of [other.agent_id, 'ffffffff', '', '../x']) {
      expect(await refused({ agent_id, type: 'ack' })).toBe('foreign_agent');
      const wait = { agent_id, timeout_ms: 0 };
      const { error_code } = await refusalOf(desk, 'wait_for_command', wait);
      expect(error_code).toBe('foreign_agent');
    }
    expect(await eventsOf(master, other.agent_id)).toEqual(before);
    await emit({ agent_id: id, type: 'heartbeat' });
  });
});

describe('events_read', () => {
  test('gives only what is new, as many as wished', async () => {
    const all = await eventsOf(master, id);
    const { last_event_seq } = await workerSeen(master, id);
    expect(all.map(({ seq }) => seq)).toEqual(
      Array.from({ length: last_event_seq }, (_, index) => index + 1)
    );
    const read = (args: Record<string, unknown>) =>
      answerOf(master, 'events_read', { agent_id: id, ...args });
    expect(await read({ since_seq: 0, max_events: 2 })).toEqual({
      agent_id: id,
      source: 'agent',
      events: all.slice(0, 2),
      last_seq: 2,
      more: true
    });
    expect(await read({ since_seq: last_event_seq - 1 })).toEqual({
      agent_id: id,
      source: 'agent',
      events: all.slice(-1),
      last_seq: last_event_seq
    });
    for (const since_seq of [last_event_seq, last_event_seq + 1000])
      expect(await read({ since_seq })).toEqual({
        agent_id: id,
        events: [],
        last_seq: last_event_seq
      });
  });

  test.each([
    [{ since_seq: -1 }, 'invalid_input'],
    [{ since_seq: 0.5 }, 'invalid_input'],
    [{ max_events: 0 }, 'invalid_input'],
    [{ max_events: 1001 }, 'invalid_input'],
    [{ agent_id: 'ffffffff' }, 'unknown_agent'],
    [{ agent_id: '../../..' }, 'unknown_agent']
  ])('refuses %j', async (args, code) => {
    const asked = { agent_id: id, ...args };
    const { error_code } = await refusalOf(master, 'events_read', asked);
    expect(error_code).toBe(code);
  });
});
