import { appendFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { createProcesses } from '../../adapters/child-process/processes.ts';
import { createRepositories } from '../../adapters/git/repositories.ts';
import type { Engine } from '../../plugin.ts';
import { createLog, type TestLog } from '../../testing/logged-agents.ts';
import { recordWith } from '../../testing/run-facts.ts';
import { JournalFiles } from '../audit/journal-files.ts';
import { Witness } from '../changes/witness.ts';
import type { RunRecord } from './run.ts';
import { RunStore } from './run-store.ts';
import { holdersOf } from './session-turns.ts';
import { finishSettling, settle } from './settle.ts';

let log: TestLog;
let state: string;

beforeEach(() => {
  log = createLog();
  state = log.workspace.record;
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

/** Settles a run that has ended in a new session; its session. */
async function settled(
  store: RunStore,
  more: Partial<RunRecord>
): Promise<string | null> {
  const outcome = await settle(ended(store, more), dependenciesOf(store));
  expect(outcome.status).toBe('completed');
  return outcome.session_id;
}

/** A run that has ended well; its id. */
function ended(store: RunStore, more: Partial<RunRecord> = {}): string {
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
  return id;
}

function dependenciesOf(store: RunStore) {
  const { workspace, journal } = log;
  const repositories = createRepositories();
  const { path } = workspace;
  return {
    store,
    journal,
    processes,
    witness: new Witness({ repositories, store, processes, workspace: path }),
    engineOf: () => engine
  };
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
  log.workspace.writeRecord('sessions', 'no directory');
  await settled(store, { in_chat: true });
  expect(log.journalText()).toContain('"type":"finished"');
  expect(store.isOpen('0badcafe')).toBe(false);
});

test('an end is journalled that a full disk had cut short', async () => {
  const store = new RunStore(state);
  const id = ended(store);
  class Full extends RunStore {
    override end(...end: Parameters<RunStore['end']>): boolean {
      const isFirst = super.end(...end);
      // As it looks when there was room for no more.
      const torn = `{"type":"finished","agent_id":"${id}","status":"comp`;
      log.workspace.writeRecord('iac.jsonl', `\n${torn}`);
      throw new Error(`ENOSPC ${isFirst}`);
    }
  }
  const full = settle(id, dependenciesOf(new Full(state)));
  await expect(full).rejects.toThrow('ENOSPC true');
  expect(store.isOpen(id)).toBe(true);
  await finishSettling(id, dependenciesOf(store));
  const whole = /"type":"finished","agent_id":"0badcafe".*\}$/m;
  expect(log.journalText()).toMatch(whole);
  expect(store.isOpen(id)).toBe(false);
});

test('an end is not journalled again by who looked while others did', async () => {
  const store = new RunStore(state);
  const id = ended(store);
  await settle(id, dependenciesOf(store));
  const { files } = log.journal;
  // Listed before that end was written, and read after it.
  class Slow extends JournalFiles {
    override list() {
      return [];
    }
  }
  const { journal, ...others } = dependenciesOf(store);
  Object.assign(journal, { files: new Slow(files.path) });
  await finishSettling(id, { ...others, journal });
  expect(log.journalText().match(/"type":"finished"/g)).toHaveLength(1);
});
