import { appendFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createProcesses } from '../../../src/adapters/child-process/processes.ts';
import { createRepositories } from '../../../src/adapters/git/repositories.ts';
import { ChangeTracker } from '../../../src/core/changes/change-tracker.ts';
import { finalize } from '../../../src/core/runs/end/finalize.ts';
import { RunJournal } from '../../../src/core/runs/end/run-journal.ts';
import type { Outcome, RunRecord } from '../../../src/core/runs/run.ts';
import { RunEvents } from '../../../src/core/runs/run-events.ts';
import type { RunStore } from '../../../src/core/runs/run-store.ts';
import type { Engine } from '../../../src/plugin/plugin.ts';
import { createLog } from './logged-agents.ts';
import { recordWith } from './run-facts.ts';

export type EndStage = ReturnType<typeof createEndStage>;

const engine: Engine = {
  kind: 'cli',
  name: 'x',
  description: '',
  command: 'x',
  args: () => []
};
const processes = createProcesses('dist');

/** A workspace with a journal, for runs that have ended and are unrecorded. */
export function createEndStage() {
  const log = createLog();
  const problems: unknown[] = [];

  function dependenciesOf(store: RunStore) {
    const repositories = createRepositories();
    const { path } = log.workspace;
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

  /** Finalizes a run and returns its recorded outcome. */
  async function finalized(
    store: RunStore,
    record: RunRecord
  ): Promise<Outcome | undefined> {
    await finalize(record, dependenciesOf(store));
    return store.outcomeOf(record.agent_id);
  }

  return {
    ...{ log, state: log.workspace.record, problems, processes },
    ...{ ended, dependenciesOf, finalized }
  };
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
