import {
  appendFileSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync
} from 'node:fs';
import { join } from 'node:path';
import { beforeEach, expect, onTestFinished, test, vi } from 'vitest';
import {
  expectDurable,
  expectWholeWhenNamed,
  justBefore,
  syncsBelow,
  watchFiles
} from '../../../../test/kit/judges/file-operations.ts';
import {
  createLog,
  type TestLog
} from '../../../../test/kit/servers/logged-agents.ts';
import { recordWith } from '../../../../test/kit/servers/run-facts.ts';
import { createProcesses } from '../../../adapters/child-process/processes.ts';
import { createRepositories } from '../../../adapters/git/repositories.ts';
import { ChangeTracker } from '../../changes/change-tracker.ts';
import { RunEvents } from '../run-events.ts';
import { RunStore } from '../run-store.ts';
import { turnsDirectory } from '../sessions/session-turns.ts';
import { finalize } from './finalize.ts';
import { RunJournal } from './run-journal.ts';

vi.mock('node:fs', async () => {
  const { watchedFs } = await import(
    '../../../../test/kit/judges/file-operations.ts'
  );
  return watchedFs();
});

const processes = createProcesses('dist');
const record = recordWith({
  engine: 'x',
  new_session_id: 'a-chat',
  in_chat: true,
  owner: processes.self
});
const { agent_id: id } = record;

let log: TestLog;
let store: RunStore;
let directory: string;

/** The run has exited with code 0 and said one word. */
beforeEach(() => {
  log = createLog();
  onTestFinished(log.workspace.remove);
  store = new RunStore(log.workspace.record);
  store.create(record, 'x', 'x');
  directory = store.directoryOf(id);
  const { pid, start } = processes.self;
  writeFileSync(join(directory, 'claim'), `${pid} ${start}\n`);
  writeFileSync(join(directory, 'exit'), '0\n');
  appendFileSync(join(directory, 'stdout'), 'Said.');
  watchFiles();
});

function conclude(): Promise<void> {
  return finalize(record, {
    store,
    journal: new RunJournal(store, log.journal),
    events: new RunEvents((problem) => {
      throw problem;
    }),
    processes,
    changeTracker: new ChangeTracker({
      repositories: createRepositories(),
      store,
      processes,
      workspace: log.workspace.path,
      editsOf: async () => undefined,
      workers: () => []
    }),
    engineOf: () => ({
      kind: 'cli',
      name: 'x',
      description: '',
      command: 'x',
      args: () => []
    })
  });
}

/** More than fits into the outcome. */
const long = 'Said. '.repeat(2000).trim();
const sayMore = () => writeFileSync(join(directory, 'stdout'), long);

test.each([
  ['short', () => undefined],
  ['long', sayMore]
])('the end of a run and its %s result are on the disk', async (name, say) => {
  say();
  await conclude();
  expectDurable(join(directory, 'outcome.json'));
  const { result_text } = store.outcomeOf(id) ?? {};
  if (name === 'long') expectDurable(join(directory, 'result.txt'));
  else expect(result_text).toBe('Said.');
});

test.each([
  ['lost', rmSync],
  ['empty', (path: string) => writeFileSync(path, '')],
  [
    'a link',
    (path: string) => {
      rmSync(path);
      symlinkSync(join(directory, 'exit'), path);
    }
  ],
  [
    'a folder',
    (path: string) => {
      rmSync(path);
      mkdirSync(path);
    }
  ]
])(
  'a short result whose file is %s comes from the outcome',
  async (name, spoil) => {
    await conclude();
    const path = join(directory, 'result.txt');
    spoil(path);
    const later = new RunStore(log.workspace.record);
    expect(later.outcomeOf(id)).toMatchObject({ result_file: 'result.txt' });
    if (name === 'a folder')
      return expect(lstatSync(path).isFile()).toBe(false);
    expect(readFileSync(path, 'utf8')).toBe('Said.');
    expect(lstatSync(path).isFile()).toBe(true);
    expect(readFileSync(join(directory, 'exit'), 'utf8')).toBe('0\n');
  }
);

test('the end of a run with a short result takes two syncs', async () => {
  await conclude();
  expect(syncsBelow(directory)).toBe(2);
});

test('a long result is on the disk before the outcome that names it', async () => {
  sayMore();
  let wasRecorded = false;
  justBefore('link', '/outcome.json', () => {
    wasRecorded = true;
    expectWholeWhenNamed(join(directory, 'result.txt'));
  });
  await conclude();
  expect(wasRecorded).toBe(true);
});

test('a result that differs from the one of another process is on the disk', async () => {
  sayMore();
  writeFileSync(join(directory, 'result.txt'), 'Something else.');
  await conclude();
  const { result_file = '' } = store.outcomeOf(id) ?? {};
  expect(result_file).toMatch(/^result-/);
  expectDurable(join(directory, result_file));
});

test('the first turn of a chat is on the disk before the end of its agent', async () => {
  let wasRecorded = false;
  justBefore('link', '/outcome.json', () => {
    wasRecorded = true;
    expectDurable(join(turnsDirectory('x', 'a-chat', store), '0'));
  });
  await conclude();
  expect(wasRecorded).toBe(true);
});

test('the end is on the disk before the journal reports it', async () => {
  let wasJournalled = false;
  justBefore('write', '/iac.jsonl', () => {
    wasJournalled = true;
    expectDurable(join(directory, 'outcome.json'));
  });
  await conclude();
  expect(wasJournalled).toBe(true);
});
