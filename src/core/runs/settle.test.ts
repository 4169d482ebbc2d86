import { appendFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { createProcesses } from '../../adapters/child-process/processes.ts';
import { createRepositories } from '../../adapters/git/repositories.ts';
import type { Engine } from '../../plugin.ts';
import { createLog, type TestLog } from '../../testing/logged-agents.ts';
import { recordWith } from '../../testing/run-facts.ts';
import { Witness } from '../changes/witness.ts';
import type { RunRecord } from './run.ts';
import { RunStore } from './run-store.ts';
import { holdersOf } from './session-turns.ts';
import { settle } from './settle.ts';

let log: TestLog;
let state: string;

beforeEach(() => {
  log = createLog();
  state = join(log.workspace.path, '.agents');
});
afterEach(() => log.workspace.remove());

const engine: Engine = {
  kind: 'cli',
  name: 'x',
  description: '',
  command: 'x',
  args: () => []
};
const processes = createProcesses('dist');

/** Settles a run that has ended in a new session. */
async function settled(
  store: RunStore,
  more: Partial<RunRecord>
): Promise<string | null> {
  const record = recordWith({
    engine: 'x',
    new_session_id: 'a-chat',
    owner: processes.self,
    ...more
  });
  const { agent_id: id } = record;
  store.create(record, 'x', 'x');
  const directory = store.directoryOf(id);
  const { pid, start } = processes.self;
  writeFileSync(join(directory, 'claim'), `${pid} ${start}\n`);
  writeFileSync(join(directory, 'exit'), '0\n');
  appendFileSync(join(directory, 'stdout'), 'Said.');
  const { workspace, journal } = log;
  const repositories = createRepositories();
  const { path } = workspace;
  const outcome = await settle(id, {
    store,
    journal,
    processes,
    witness: new Witness({ repositories, store, processes, workspace: path }),
    engineOf: () => engine
  });
  expect(outcome.status).toBe('completed');
  return outcome.session_id;
}

test('who began a chat is on disk before its end is', async () => {
  const known: string[][] = [];
  class Watched extends RunStore {
    override end(...end: Parameters<RunStore['end']>): boolean {
      known.push(holdersOf('x', 'a-chat', this));
      return super.end(...end);
    }
  }
  const id = await settled(new Watched(state), { in_chat: true });
  expect(id).toBe('a-chat');
  expect(known).toEqual([['0badcafe']]);
});

test('a session that is no chat leaves nothing behind', async () => {
  const store = new RunStore(state);
  const squad = { squadId: 's', memberId: 's-m1', roleId: 'r' };
  await settled(store, { squad });
  expect(holdersOf('x', 'a-chat', store)).toEqual([]);
});

test('a run ends although its chat cannot be noted', async () => {
  const store = new RunStore(state);
  log.workspace.write('.agents/sessions', 'no directory');
  await settled(store, { in_chat: true });
  expect(log.read('iac.jsonl')).toContain('"type":"finished"');
  expect(store.isOpen('0badcafe')).toBe(false);
});
