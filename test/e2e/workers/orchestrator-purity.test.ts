import { mkdirSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { McpClient } from '../../kit/servers/mcp-client.ts';
import {
  answerOf,
  createdWorker,
  enqueued,
  refusalOf,
  workersSeen
} from '../../kit/servers/orchestrator-calls.ts';
import {
  createOrchestratorStage,
  type OrchestratorStage
} from '../../kit/servers/orchestrator-stage.ts';

let stage: OrchestratorStage;
let master: McpClient;

beforeEach(async () => {
  stage = createOrchestratorStage('process', {
    config: { plugins: ['./puppet.mjs', './loud.mjs'] }
  });
  stage.write('loud.mjs', loud);
  master = await stage.serve();
});

// Looks at every line that any of its servers has written.
afterEach(() => stage.close());

/** Lines that are no requests, or none that can be served. */
const garbage = [
  'hello',
  '',
  '{}',
  '[]',
  'null',
  '{"jsonrpc":"1.0","id":1,"method":"ping"}',
  '{"jsonrpc":"2.0","id":{},"method":"ping"}',
  '{"jsonrpc":"2.0","method":"notifications/unheard"}',
  '{"jsonrpc":"2.0","id":999999,"result":{}}',
  '{"jsonrpc":"2.0","id":"a","method":"no/such"}',
  '{"jsonrpc":"2.0","id":"b","method":"tools/call"}',
  '{"jsonrpc":"2.0","id":"c","method":"tools/call","params":{"name":7}}',
  '{"jsonrpc":"2.0","id":"d","method":"tools/call","params":{"name":"no"}}',
  '\u0000\u0001\ufffd\u2028'
];

describe('nothing but messages stands on stdout', () => {
  test('of a master, whatever it is sent and whatever fails', async () => {
    for (const line of garbage) master.child.stdin?.write(`${line}\n`);
    const args = { name: 'loud', role: 'rehearse', engine: 'loud' };
    await refusalOf(master, 'agent_create', args);
    const { agent_id } = await createdWorker(master);
    await enqueued(master, agent_id, 'task', 'print 1');
    // Its log is a folder: nothing can be read or written there.
    const outbox = join(stage.record, 'workers', agent_id, 'outbox.jsonl');
    renameSync(outbox, `${outbox}.away`);
    mkdirSync(outbox);
    for (const tool of ['agent_get', 'events_read', 'agent_delete']) {
      const { isError, data } = await master.call(tool, { agent_id });
      expect(isError, tool).toBe(true);
      expect(data.error_code).not.toBe('internal');
    }
    rmSync(outbox, { recursive: true });
    renameSync(`${outbox}.away`, outbox);
    expect(await workersSeen(master)).toContainEqual(
      expect.objectContaining({ agent_id })
    );
    expect(await master.request('ping')).toEqual({});
    expect(master.impurities).toEqual([]);
  });

  test('of a worker, whatever it is sent and whatever fails', async () => {
    const { id, desk } = await stage.puppet(master);
    for (const line of garbage) desk.child.stdin?.write(`${line}\n`);
    await refusalOf(desk, 'emit_event', { type: 'stopped' });
    // A master would end what it cannot find any more.
    await stage.kill(master);
    const record = join(stage.record, 'workers', id);
    const away = `${record}.away`;
    renameSync(record, away);
    const { error_code, error } = await refusalOf(desk, 'emit_event', {
      type: 'progress'
    });
    expect(error_code).toBe('unknown_agent');
    expect(error).toContain(id);
    const waited = await desk.call('wait_for_command', { timeout_ms: 100 });
    expect(waited.data.error_code).not.toBe('internal');
    renameSync(away, record);
    const wait = { timeout_ms: 0 };
    const answer = await answerOf(desk, 'wait_for_command', wait);
    expect(answer).toMatchObject({ status: 'timeout' });
    expect(await desk.request('ping')).toEqual({});
    expect(desk.impurities).toEqual([]);
    master = await stage.serve();
  });

  test.each(['SIGTERM', 'SIGINT', 'SIGHUP'] as const)(
    'of a worker that ends by %s amid a wait',
    async (signal) => {
      const { desk } = await stage.puppet(master);
      const waiting = desk.request('tools/call', {
        name: 'wait_for_command',
        arguments: { timeout_ms: 30_000 }
      });
      waiting.catch(() => undefined);
      await desk.request('ping');
      desk.child.kill(signal);
      expect(await desk.exited).toEqual({ code: 0, signal: null });
      expect(desk.impurities).toEqual([]);
      expect(desk.stderr).toBe('');
    }
  );

  test('of a worker whose client leaves amid a wait', async () => {
    const { desk } = await stage.puppet(master);
    const waiting = desk.call('wait_for_command', { timeout_ms: 30_000 });
    await desk.request('ping');
    expect(await desk.close()).toEqual({ code: 0, signal: null });
    // It is answered as one that has waited for nothing.
    expect((await waiting).data).toMatchObject({ status: 'timeout' });
    expect(desk.stderr).toBe('');
  });
});

/** Prints wherever a plugin can, and its program does, too. */
const loud = `
console.log('loud plugin');
process.stdout.write('loud again');
export default {
  kind: 'cli', name: 'loud', description: 'For tests.',
  command: process.execPath,
  access: { read: 'enforced', write: 'enforced', full: 'enforced' },
  args: () => {
    console.log('args');
    return ['-e', 'console.log("on stdout"); console.error("on stderr")'];
  },
  connect: () => { console.log('connect'); return { args: [] }; },
  interactive: { args: () => { console.log('interactive'); return []; } }
};
`;
