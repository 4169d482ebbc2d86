import { existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { recordWith } from '../../../test/kit/servers/run-facts.ts';
import { createGitWorkspace } from '../../../test/kit/workspaces/git-workspace.ts';
import { createProcesses } from '../../adapters/child-process/processes.ts';
import { createRepositories } from '../../adapters/git/repositories.ts';
import { RunStore } from '../runs/run-store.ts';
import { ChangeTracker } from './change-tracker.ts';
import { shadowOf } from './snapshot-folder.ts';

const processes = createProcesses('dist');

function createStage() {
  const workspace = createGitWorkspace();
  onTestFinished(() => workspace.remove());
  const store = new RunStore(workspace.record);
  const tracker = new ChangeTracker({
    ...{ store, processes, repositories: createRepositories() },
    workspace: workspace.path,
    editsOf: async () => undefined,
    workers: () => []
  });
  return { workspace, store, tracker };
}

test('a snapshot is taken for a program in a repository, and none for an API', async () => {
  const { workspace, store, tracker } = createStage();
  const common = { cwd: workspace.path, owner: processes.self };
  const program = recordWith(common);
  const api = recordWith({ ...common, agent_id: '1badcafe', kind: 'api' });
  for (const record of [program, api]) {
    store.create(record, 'x', 'x');
    await tracker.prepare(record);
  }
  const hasSnapshot = [program, api].map(({ agent_id: id }) =>
    existsSync(shadowOf(store.directoryOf(id)))
  );
  expect(hasSnapshot).toEqual([true, false]);
});

test.each(['discard', 'clear'] as const)(
  'nothing is left of the snapshot of an agent that never starts, or is prepared again (%s)',
  async (act) => {
    const { store, tracker } = createStage();
    const record = recordWith({ owner: processes.self });
    store.create(record, 'x', 'x');
    const directory = store.directoryOf(record.agent_id);
    const others = readdirSync(directory);
    mkdirSync(join(directory, 'before', 'objects'), { recursive: true });
    writeFileSync(join(directory, 'changes.json'), '{}');
    await tracker[act](record);
    expect(readdirSync(directory).sort()).toEqual(others.sort());
  }
);
