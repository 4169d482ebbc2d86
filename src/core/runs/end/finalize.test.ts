import {
  appendFileSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync
} from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import {
  createLog,
  type TestLog
} from '../../../../test/kit/servers/logged-agents.ts';
import {
  outcomeWith,
  recordWith
} from '../../../../test/kit/servers/run-facts.ts';
import { createProcesses } from '../../../adapters/child-process/processes.ts';
import { createRepositories } from '../../../adapters/git/repositories.ts';
import type { Engine } from '../../../plugin/plugin.ts';
import { JournalFiles } from '../../audit/journal/journal-files.ts';
import { ChangeTracker } from '../../changes/change-tracker.ts';
import type { Outcome, RunRecord } from '../run.ts';
import { RunEvents } from '../run-events.ts';
import { RunStore } from '../run-store.ts';
import { holdersOf } from '../sessions/session-turns.ts';
import { completeEnd, finalize } from './finalize.ts';
import { RunJournal } from './run-journal.ts';

let log: TestLog;
let state: string;
let problems: unknown[];

beforeEach(() => {
  log = createLog();
  state = log.workspace.record;
  problems = [];
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

/** Finalizes a run and returns its recorded outcome. */
async function finalized(
  store: RunStore,
  record: RunRecord
): Promise<Outcome | undefined> {
  await finalize(record, dependenciesOf(store));
  return store.outcomeOf(record.agent_id);
}

/** Finalizes a run that ended in a new session, and returns the session. */
async function sessionOf(store: RunStore, more: Partial<RunRecord>) {
  const outcome = await finalized(store, ended(store, more));
  expect(outcome?.status).toBe('completed');
  return outcome?.session_id;
}

/** Creates a run that has exited with code 0. */
function ended(store: RunStore, more: Partial<RunRecord> = {}): RunRecord {
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
  return record;
}

function dependenciesOf(store: RunStore) {
  const { workspace } = log;
  const repositories = createRepositories();
  const { path } = workspace;
  return {
    store,
    journal: new RunJournal(store, log.journal),
    events: new RunEvents((problem) => problems.push(problem)),
    processes,
    changeTracker: new ChangeTracker({
      repositories,
      store,
      processes,
      workspace: path,
      editsOf: async () => undefined,
      workers: () => []
    }),
    engineOf: () => engine
  };
}

test('the first agent of a chat is recorded before its end is recorded', async () => {
  const known: string[][] = [];
  class Watched extends RunStore {
    override end(...end: Parameters<RunStore['end']>): boolean {
      known.push(holdersOf('x', 'a-chat', this));
      return super.end(...end);
    }
  }
  const session = await sessionOf(new Watched(state), { in_chat: true });
  expect(session).toBe('a-chat');
  expect(known).toEqual([['0badcafe']]);
});

test('an API agent whose host was killed amid its answer is interrupted, and keeps it', async () => {
  const store = new RunStore(state);
  const record = ended(store, { kind: 'api' });
  const stdout = join(store.directoryOf(record.agent_id), 'stdout');
  writeFileSync(stdout, '{"type":"text","piece":"half"}\n');
  const api: Engine = {
    ...{ kind: 'api', name: 'x', description: '', keyNames: [] },
    generate: async () => ({ text: '', finished: true })
  };
  await finalize(record, { ...dependenciesOf(store), engineOf: () => api });
  expect(store.outcomeOf(record.agent_id)).toMatchObject({
    ...{ status: 'interrupted', error_code: 'interrupted' },
    error: expect.stringContaining('killed from outside')
  });
  const result = join(store.directoryOf(record.agent_id), 'result.txt');
  expect(readFileSync(result, 'utf8')).toBe('half');
});

test('a session that is not a chat records no turn', async () => {
  const store = new RunStore(state);
  const squad = { squadId: 's', memberId: 's-m1', roleId: 'r' };
  await sessionOf(store, { squad });
  expect(holdersOf('x', 'a-chat', store)).toEqual([]);
});

test('a run ends even when its chat cannot be noted', async () => {
  const store = new RunStore(state);
  log.workspace.writeRecord('sessions', 'no directory');
  await sessionOf(store, { in_chat: true });
  expect(log.journalText()).toContain('"type":"finished"');
  expect(store.isOpen('0badcafe')).toBe(false);
});

test('an end whose mark is lost while it is recorded is journalled', async () => {
  const record = ended(new RunStore(state));
  class Cleaned extends RunStore {
    override end(...end: Parameters<RunStore['end']>): boolean {
      this.close(record.agent_id);
      return super.end(...end);
    }
  }
  await finalize(record, dependenciesOf(new Cleaned(state)));
  const ends = log.journalText().split('"type":"finished"').length - 1;
  expect(ends).toBe(1);
});

test('an end that a full disk truncated in the journal is journalled again', async () => {
  const store = new RunStore(state);
  const record = ended(store);
  const { agent_id: id } = record;
  class Full extends RunStore {
    override end(...end: Parameters<RunStore['end']>): boolean {
      const isFirst = super.end(...end);
      // A line that a full disk cut short.
      const torn = `{"type":"finished","agent_id":"${id}","status":"comp`;
      log.workspace.writeRecord('iac.jsonl', `\n${torn}`);
      throw new Error(`ENOSPC ${isFirst}`);
    }
  }
  const full = finalize(record, dependenciesOf(new Full(state)));
  await expect(full).rejects.toThrow('ENOSPC true');
  expect(store.isOpen(id)).toBe(true);
  await completed(store, record);
  const whole = /"type":"finished","agent_id":"0badcafe".*\}$/m;
  expect(log.journalText()).toMatch(whole);
  expect(store.isOpen(id)).toBe(false);
});

test('an end is not journalled twice by a process that searched while another wrote', async () => {
  const store = new RunStore(state);
  const record = ended(store);
  await finalize(record, dependenciesOf(store));
  const { files } = log.journal;
  // The list is from before the end was written.
  class Slow extends JournalFiles {
    override list() {
      return [];
    }
  }
  Object.assign(log.journal, { files: new Slow(files.path) });
  await completed(store, record);
  expect(log.journalText().match(/"type":"finished"/g)).toHaveLength(1);
});

/** A run whose process was killed between its outcome and the journal. */
async function unjournalled(store: RunStore): Promise<RunRecord> {
  const record = ended(store);
  class Killed extends RunJournal {
    override async recordEnd(): Promise<void> {
      throw new Error('killed');
    }
  }
  const journal = new Killed(store, log.journal);
  const end = finalize(record, { ...dependenciesOf(store), journal });
  await expect(end).rejects.toThrow('killed');
  expect(log.journalText()).not.toContain('"type":"finished"');
  return record;
}

test('an end that several processes complete at once is journalled once', async () => {
  const stores = [1, 2, 3].map(() => new RunStore(state));
  const record = await unjournalled(new RunStore(state));
  await Promise.all(stores.map((store) => completed(store, record)));
  expect(log.journalText().match(/"type":"finished"/g)).toHaveLength(1);
  const names = readdirSync(join(state, 'spawns', record.agent_id));
  expect(names.filter((name) => name.includes('lock'))).toEqual([]);
});

test('an end whose agent is cleaned away meanwhile leaves no folder', async () => {
  const store = new RunStore(state);
  const record = await unjournalled(store);
  const { agent_id: id } = record;
  const outcome = store.outcomeOf(id);
  if (!outcome) expect.fail('There is no outcome.');
  store.close(id);
  rmSync(store.directoryOf(id), { recursive: true });
  await completeEnd(record, outcome, dependenciesOf(store));
  expect(readdirSync(join(state, 'spawns'))).toEqual([]);
});

test('an end that was completed while its process was paused is journalled once', async () => {
  const store = new RunStore(state);
  const record = ended(store);
  class Paused extends RunJournal {
    override async ensureSpawn(): Promise<void> {
      await completed(new RunStore(state), record);
    }
  }
  const journal = new Paused(store, log.journal);
  await finalize(record, { ...dependenciesOf(store), journal });
  expect(log.journalText().match(/"type":"finished"/g)).toHaveLength(1);
});

test('the end of a run whose mark is lost is journalled all the same', async () => {
  const store = new RunStore(state);
  const record = ended(store);
  rmSync(join(state, 'open'), { recursive: true });
  expect((await finalized(store, record))?.status).toBe('completed');
  expect(log.journalText().match(/"type":"finished"/g)).toHaveLength(1);
  expect(store.openIds()).toEqual([]);
  rmSync(join(store.directoryOf(record.agent_id), 'outcome.json'));
  await finalized(new RunStore(state), record);
  expect(log.journalText().match(/"type":"finished"/g)).toHaveLength(1);
});

async function completed(store: RunStore, record: RunRecord): Promise<void> {
  const outcome = store.outcomeOf(record.agent_id);
  if (!outcome) expect.fail('There is no outcome.');
  await completeEnd(record, outcome, dependenciesOf(store));
}

test('a worktree is not removed when its end is completed later', async () => {
  const store = new RunStore(state);
  const record = ended(store);
  const dependencies = dependenciesOf(store);
  const { changeTracker } = dependencies;
  const leave = changeTracker.leave.bind(changeTracker);
  const isFirst: boolean[] = [];
  changeTracker.leave = (...call) => {
    isFirst.push(call[1]);
    return leave(...call);
  };
  await finalize(record, dependencies);
  await completeEnd(record, outcomeWith(), dependencies);
  expect(isFirst).toEqual([true, false]);
});

test('an end is published once, when it is in the journal and its mark is gone', async () => {
  const store = new RunStore(state);
  const record = ended(store);
  const { agent_id: id } = record;
  const dependencies = dependenciesOf(store);
  const seen: string[] = [];
  dependencies.events.onRunEnded((run) => {
    expect(run.record).toEqual(record);
    expect(log.journalText()).toContain('"type":"finished"');
    expect(store.isOpen(id)).toBe(false);
    seen.push(`ended ${run.outcome.status}`);
  });
  dependencies.events.onRunChanged(() => seen.push('changed'));
  await finalize(record, dependencies);
  expect(seen).toEqual(['ended completed']);
  await finalize(record, dependencies);
  expect(seen).toEqual(['ended completed', 'changed']);
  expect(log.journalText().match(/"type":"finished"/g)).toHaveLength(1);
  expect(problems).toEqual([]);
});

test('an existing result file is kept, and the outcome names another file', async () => {
  const store = new RunStore(state);
  const record = ended(store);
  const directory = store.directoryOf(record.agent_id);
  writeFileSync(join(directory, 'result.txt'), 'Said, but not to its end');
  const outcome = await finalized(store, record);
  const name = outcome?.result_file ?? '';
  expect(name).toMatch(/^result-[0-9a-f]{12}\.txt$/);
  expect(readFileSync(join(directory, name), 'utf8')).toBe('Said.');
  expect(readFileSync(join(directory, 'result.txt'), 'utf8')).toBe(
    'Said, but not to its end'
  );
});

test('an existing result file is used when it has the same text', async () => {
  const store = new RunStore(state);
  const record = ended(store);
  const directory = store.directoryOf(record.agent_id);
  writeFileSync(join(directory, 'result.txt'), 'Said.');
  expect(await finalized(store, record)).toMatchObject({
    result_file: 'result.txt',
    result_chars: 5
  });
});

test('a long text is kept once, in the output of its agent', async () => {
  const store = new RunStore(state);
  const record = ended(store);
  const directory = store.directoryOf(record.agent_id);
  const long = 'é'.repeat(4 * 1024 * 1024);
  appendFileSync(join(directory, 'stdout'), long);
  expect(await finalized(store, record)).toMatchObject({
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
