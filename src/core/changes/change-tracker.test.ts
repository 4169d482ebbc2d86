import { existsSync } from 'node:fs';
import { expect, onTestFinished, test } from 'vitest';
import { recordWith } from '../../../test/kit/servers/run-facts.ts';
import { createGitWorkspace } from '../../../test/kit/workspaces/git-workspace.ts';
import { createProcesses } from '../../adapters/child-process/processes.ts';
import { createRepositories } from '../../adapters/git/repositories.ts';
import { RunStore } from '../runs/run-store.ts';
import { ChangeTracker } from './change-tracker.ts';
import { shadowOf } from './snapshot-folder.ts';

test('a snapshot is taken for a program in a repository, and none for an API', async () => {
  const workspace = createGitWorkspace();
  onTestFinished(() => workspace.remove());
  const store = new RunStore(workspace.record);
  const processes = createProcesses('dist');
  const tracker = new ChangeTracker({
    ...{ store, processes, repositories: createRepositories() },
    workspace: workspace.path,
    editsOf: async () => undefined,
    workers: () => []
  });
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
