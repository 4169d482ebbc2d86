import {
  appendFileSync,
  readdirSync,
  readFileSync,
  statSync,
  writeFileSync
} from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import {
  createEndStage,
  type EndStage
} from '../../../../test/kit/servers/end-stage.ts';
import type { Engine } from '../../../plugin/plugin.ts';
import type { RunRecord } from '../run.ts';
import { RunStore } from '../run-store.ts';
import { holdersOf } from '../sessions/session-turns.ts';
import { finalize } from './finalize.ts';

let stage: EndStage;

beforeEach(() => {
  stage = createEndStage();
});
afterEach(() => stage.log.workspace.remove());

/** Finalizes a run that ended in a new session, and returns the session. */
async function sessionOf(store: RunStore, more: Partial<RunRecord>) {
  const outcome = await stage.finalized(store, stage.ended(store, more));
  expect(outcome?.status).toBe('completed');
  return outcome?.session_id;
}

test('the first agent of a chat is recorded before its end is recorded', async () => {
  const known: string[][] = [];
  class Watched extends RunStore {
    override end(...end: Parameters<RunStore['end']>): boolean {
      known.push(holdersOf('x', 'a-chat', this));
      return super.end(...end);
    }
  }
  const session = await sessionOf(new Watched(stage.state), {
    in_chat: true
  });
  expect(session).toBe('a-chat');
  expect(known).toEqual([['0badcafe']]);
});

test('an API agent whose host was killed during its answer is interrupted, and keeps it', async () => {
  const store = new RunStore(stage.state);
  const record = stage.ended(store, { kind: 'api' });
  const stdout = join(store.directoryOf(record.agent_id), 'stdout');
  writeFileSync(stdout, '{"type":"text","piece":"half"}\n');
  const api: Engine = {
    ...{ kind: 'api', name: 'x', description: '', keyNames: [] },
    generate: async () => ({ text: '', finished: true })
  };
  await finalize(record, {
    ...stage.dependenciesOf(store),
    engineOf: () => api
  });
  expect(store.outcomeOf(record.agent_id)).toMatchObject({
    ...{ status: 'interrupted', error_code: 'interrupted' },
    error: expect.stringContaining('killed from outside')
  });
  const result = join(store.directoryOf(record.agent_id), 'result.txt');
  expect(readFileSync(result, 'utf8')).toBe('half');
});

test('a session that is not a chat records no turn', async () => {
  const store = new RunStore(stage.state);
  const squad = { squadId: 's', memberId: 's-m1', roleId: 'r' };
  await sessionOf(store, { squad });
  expect(holdersOf('x', 'a-chat', store)).toEqual([]);
});

test('a run ends even when its chat cannot be noted', async () => {
  const store = new RunStore(stage.state);
  stage.log.workspace.writeRecord('sessions', 'no directory');
  await sessionOf(store, { in_chat: true });
  expect(stage.log.journalText()).toContain('"type":"finished"');
  expect(store.isOpen('0badcafe')).toBe(false);
});

test('an error is recorded without secrets', async () => {
  const token = `ghp_${'a1'.repeat(18)}`;
  const store = new RunStore(stage.state);
  const record = stage.ended(store);
  const directory = store.directoryOf(record.agent_id);
  writeFileSync(join(directory, 'exit'), '1\n');
  writeFileSync(join(directory, 'stderr'), `Cannot log in: ${token}\n`);
  const outcome = await stage.finalized(store, record);
  expect(outcome?.error).toContain('Cannot log in: [redacted]');
  expect(stage.log.journalText()).not.toContain(token);
});

test('an error quotes no part of a key that is longer than the quote', async () => {
  const key = `-----BEGIN PRIVATE KEY-----\n${'MIIEvQ9x\n'.repeat(300)}-----END PRIVATE KEY-----`;
  const store = new RunStore(stage.state);
  const record = stage.ended(store);
  const directory = store.directoryOf(record.agent_id);
  writeFileSync(join(directory, 'exit'), '1\n');
  writeFileSync(join(directory, 'stderr'), `It has:\n${key}\nand failed\n`);
  const outcome = await stage.finalized(store, record);
  expect(outcome?.error).toContain('[redacted]\nand failed');
  expect(outcome?.error).not.toContain('MIIEvQ9x');
});

test('an existing result file is kept, and the outcome names another file', async () => {
  const store = new RunStore(stage.state);
  const record = stage.ended(store);
  const directory = store.directoryOf(record.agent_id);
  writeFileSync(join(directory, 'result.txt'), 'Said, but not to its end');
  const outcome = await stage.finalized(store, record);
  const name = outcome?.result_file ?? '';
  expect(name).toMatch(/^result-[0-9a-f]{12}\.txt$/);
  expect(readFileSync(join(directory, name), 'utf8')).toBe('Said.');
  expect(readFileSync(join(directory, 'result.txt'), 'utf8')).toBe(
    'Said, but not to its end'
  );
});

test('an existing result file is used when it has the same text', async () => {
  const store = new RunStore(stage.state);
  const record = stage.ended(store);
  const directory = store.directoryOf(record.agent_id);
  writeFileSync(join(directory, 'result.txt'), 'Said.');
  expect(await stage.finalized(store, record)).toMatchObject({
    result_file: 'result.txt',
    result_chars: 5
  });
});

test('a long text is kept once, in the output of its agent', async () => {
  const store = new RunStore(stage.state);
  const record = stage.ended(store);
  const directory = store.directoryOf(record.agent_id);
  const long = 'é'.repeat(4 * 1024 * 1024);
  appendFileSync(join(directory, 'stdout'), long);
  expect(await stage.finalized(store, record)).toMatchObject({
    status: 'completed',
    result_file: 'stdout',
    result_chars: 'Said.'.length + long.length
  });
  const sizes = readdirSync(directory).map(
    (name) => statSync(join(directory, name)).size
  );
  const all = sizes.reduce((sum, size) => sum + size);
  expect(all).toBeLessThan(
    statSync(join(directory, 'stdout')).size + 64 * 1024
  );
});
