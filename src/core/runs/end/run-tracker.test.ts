import {
  existsSync,
  mkdirSync,
  rmSync,
  utimesSync,
  writeFileSync
} from 'node:fs';
import { join } from 'node:path';
import {
  afterEach,
  beforeEach,
  expect,
  onTestFinished,
  test,
  vi
} from 'vitest';
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
import { ChangeTracker } from '../../changes/change-tracker.ts';
import type { RunRecord } from '../run.ts';
import { RunEvents } from '../run-events.ts';
import { noteJournalled, stopRequestOf } from '../run-files.ts';
import { RunStore } from '../run-store.ts';
import { setStarting } from '../start-marks.ts';
import { RunJournal } from './run-journal.ts';
import { RunTracker } from './run-tracker.ts';

let log: TestLog;
let store: RunStore;
/** Runs that the server is just recording. */
const coming = new Set<string>();

beforeEach(() => {
  log = createLog();
  store = new RunStore(log.workspace.record);
});
afterEach(() => log.workspace.remove());

const processes = createProcesses('dist');
const engine: Engine = {
  kind: 'cli',
  name: 'x',
  description: '',
  command: 'x',
  args: () => []
};

/** The problems reported while a tick finalizes a run that has ended. */
async function problemsOf(meanwhile: (directory: string) => void) {
  const { directory } = ended(recordWith({ owner: processes.self }));
  const problems: unknown[] = [];
  await trackerOf(problems, () => meanwhile(directory)).tick();
  return problems;
}

/** A run whose program has ended; its end is not recorded. */
function ended(record: RunRecord) {
  store.create(record, 'x', 'x');
  const directory = store.directoryOf(record.agent_id);
  const { pid, start } = processes.self;
  writeFileSync(join(directory, 'claim'), `${pid} ${start}\n`);
  writeFileSync(join(directory, 'exit'), '0\n');
  return { id: record.agent_id, directory };
}

/** The tracker of a server that did not start the run. */
function trackerOf(
  problems: unknown[],
  onEngine = () => undefined as unknown,
  known: Engine | 'unknown' = engine
) {
  const repositories = createRepositories();
  const { path } = log.workspace;
  return new RunTracker({
    store,
    journal: new RunJournal(store, log.journal),
    processes,
    changeTracker: new ChangeTracker({
      repositories,
      store,
      processes,
      workspace: path,
      editsOf: async () => undefined,
      workers: () => []
    }),
    // Called after the end is detected and before it is recorded.
    engineOf: () => {
      onEngine();
      return known === 'unknown' ? undefined : known;
    },
    starter: {
      slots: { coming },
      hasStarted: () => false,
      isQueued: () => false,
      takeOver: () => undefined
    },
    events: new RunEvents((problem) => problems.push(problem)),
    onProblem: (problem) => problems.push(problem)
  });
}

/** How many records of a type the journal has. */
function journalled(type: string): number {
  const text = existsSync(log.journal.path) ? log.journalText() : '';
  return text.split(`"type":"${type}"`).length - 1;
}

/** A clock that the result moves on, before a look; how many ends there are. */
function endsAfterOf(tracker: RunTracker) {
  vi.useFakeTimers({ toFake: ['performance'] });
  onTestFinished(() => void vi.useRealTimers());
  return async (seconds: number) => {
    vi.advanceTimersByTime(seconds * 1000);
    await tracker.tick();
    return journalled('finished');
  };
}

test('cleaning an agent away while its end is recorded reports no problem', async () => {
  const remove = (path: string) => rmSync(path, { recursive: true });
  expect(await problemsOf((path) => remove(path))).toEqual([]);
});

test('a problem that keeps an end from being recorded is reported', async () => {
  const inItsPlace = (path: string) =>
    mkdirSync(join(path, 'result.txt'), { recursive: true });
  expect(await problemsOf(inItsPlace)).toHaveLength(1);
});

test('an end that another server records between two looks is no damage', async () => {
  const record = recordWith({ engine: 'gone', owner: processes.self });
  const { agent_id: id } = record;
  /** Another server records the end right after it was looked for. */
  class Late extends RunStore {
    override outcomeOf(agentId: string) {
      const seen = super.outcomeOf(agentId);
      if (!seen) this.end(id, outcomeWith({ status: 'completed' }));
      return seen;
    }
  }
  store = new Late(log.workspace.record);
  const { directory } = ended(record);
  const longAgo = Date.now() / 1000 - 60;
  utimesSync(join(directory, 'exit'), longAgo, longAgo);
  const tracker = trackerOf([], () => undefined, 'unknown');
  expect((await tracker.run(id))?.isUnjudged).toBe(true);
  expect((await tracker.run(id))?.status).toBe('completed');
});

test('an end that a living process has just recorded is left to it, whatever the clock says', async () => {
  const { id, directory } = ended(recordWith({ owner: processes.self }));
  const other = { ...processes.self, pid: process.ppid, start: '' };
  store.end(id, outcomeWith({ status: 'completed', settled_by: other }));
  utimesSync(join(directory, 'outcome.json'), 1, 1);
  const endsAfter = endsAfterOf(trackerOf([]));
  expect(await endsAfter(0)).toBe(0);
  // A machine that sleeps takes no time from the other process.
  expect(await endsAfter(3600)).toBe(0);
  expect(await endsAfter(4)).toBe(0);
  expect(await endsAfter(2)).toBe(1);
  expect(store.isOpen(id)).toBe(false);
});

test('a refused spawn is journalled by its spawn alone, however long that takes', async () => {
  const record = recordWith({ owner: processes.self });
  const { agent_id: id } = record;
  const refused = { status: 'failed', settled_by: processes.self } as const;
  store.create(record, 'x', 'x', outcomeWith(refused));
  const endsAfter = endsAfterOf(trackerOf([]));
  coming.add(id);
  expect(await endsAfter(0)).toBe(0);
  expect(await endsAfter(1)).toBe(0);
  // Its server has failed to journal it.
  coming.delete(id);
  expect(await endsAfter(0)).toBe(0);
  expect(await endsAfter(1)).toBe(1);
});

test('the end of a program is not recorded by an API engine of its name', async () => {
  const { id, directory } = ended(recordWith({ owner: processes.self }));
  writeFileSync(join(directory, 'stdout'), 'Done.');
  const api: Engine = {
    ...{ kind: 'api', name: 'x', description: '', keyNames: [] },
    generate: async () => ({ text: '', finished: true })
  };
  await trackerOf([], undefined, api).tick();
  expect(store.hasOutcome(id)).toBe(false);
  await trackerOf([]).tick();
  expect(store.outcomeOf(id)?.status).toBe('completed');
});

test.each([
  ['is not stopped before it has a supervisor', false],
  ['is stopped once it has one', true]
])('a run that another server starts %s', async (_, isClaimed) => {
  const owner = { pid: 1, start: '1', place: 'elsewhere' };
  const record = recordWith({ engine: 'x', owner, output_limit_bytes: 1 });
  store.create(record, 'x', 'x');
  const directory = store.directoryOf(record.agent_id);
  setStarting(directory, true);
  writeFileSync(join(directory, 'stdout'), 'more than that');
  if (isClaimed) writeFileSync(join(directory, 'claim'), '');
  await trackerOf([]).tick();
  expect(stopRequestOf(directory)?.why).toBe(
    isClaimed ? 'output_limit' : undefined
  );
});

test.each([
  ['this process', processes.self, 1],
  ['another machine', { pid: 1, start: '', place: 'elsewhere' }, 0]
])(
  'a spawn of %s that the journal has lost is recorded again, once: %j',
  async (_, owner, count) => {
    const record = recordWith({ engine: 'x', owner });
    store.create(record, 'x', 'x');
    noteJournalled(store.directoryOf(record.agent_id));
    const tracker = trackerOf([]);
    await tracker.tick();
    await tracker.tick();
    expect(journalled('spawned')).toBe(count);
  }
);
