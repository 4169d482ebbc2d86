import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { createProcesses } from '../../adapters/child-process/processes.ts';
import { createRepositories } from '../../adapters/git/repositories.ts';
import type { Engine } from '../../plugin.ts';
import { createLog, type TestLog } from '../../testing/logged-agents.ts';
import { recordWith } from '../../testing/run-facts.ts';
import { Witness } from '../changes/witness.ts';
import { RunStore } from './run-store.ts';
import { RunTracker } from './run-tracker.ts';

let log: TestLog;
let store: RunStore;

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

/** The problems told while a run that has ended is settled by a tick. */
async function problemsOf(meanwhile: (directory: string) => void) {
  const record = recordWith({ engine: 'x', owner: processes.self });
  store.create(record, 'x', 'x');
  const directory = store.directoryOf(record.agent_id);
  const { pid, start } = processes.self;
  writeFileSync(join(directory, 'claim'), `${pid} ${start}\n`);
  writeFileSync(join(directory, 'exit'), '0\n');
  const { workspace, journal } = log;
  const repositories = createRepositories();
  const { path } = workspace;
  const problems: unknown[] = [];
  const tracker = new RunTracker({
    store,
    journal,
    processes,
    witness: new Witness({ repositories, store, processes, workspace: path }),
    // Asked for once it is known to have ended, and before that is written.
    engineOf: () => {
      meanwhile(directory);
      return engine;
    },
    isOurs: () => false,
    onChange: () => undefined,
    onProblem: (problem) => problems.push(problem)
  });
  await tracker.tick();
  return problems;
}

test('nothing is wrong with an agent that was cleaned away while its end was written', async () => {
  const remove = (path: string) => rmSync(path, { recursive: true });
  expect(await problemsOf((path) => remove(path))).toEqual([]);
});

test('what keeps an end from being written is told', async () => {
  const inItsPlace = (path: string) =>
    mkdirSync(join(path, 'result.txt'), { recursive: true });
  expect(await problemsOf(inItsPlace)).toHaveLength(1);
});
