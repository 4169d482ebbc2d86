import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { recordWith } from '../../../test/kit/servers/run-facts.ts';
import {
  createTempWorkspace,
  type TempWorkspace
} from '../../../test/kit/workspaces/temp-workspace.ts';
import type { Reply } from '../../plugin/plugin.ts';
import type { RunRecord, Worktree } from '../runs/run.ts';
import { RunStore } from '../runs/run-store.ts';
import { attributeChanges } from './attribution.ts';
import { type Changes, keepChanges } from './change-file.ts';
import type { FileChange } from './ports.ts';

let workspace: TempWorkspace;
let store: RunStore;
let worktree: Worktree;
/** By agent id. */
let edits: Record<string, Reply['edits']>;

beforeEach(() => {
  workspace = createTempWorkspace();
  onTestFinished(workspace.remove);
  store = new RunStore(workspace.record);
  edits = {};
  const path = join(workspace.paths.shared.worktrees, '0badcafe');
  mkdirSync(path, { recursive: true });
  worktree = {
    ...{ path, branch: 'troupe/0badcafe', base: '' },
    origin: workspace.path
  };
});

const change = (path: string): FileChange => ({ path, added: 1, removed: 0 });

function attribute(names: string[], record: RunRecord, others: string[] = []) {
  return attributeChanges(names.map(change), record, others, {
    workspace: workspace.path,
    store,
    editsOf: async ({ agent_id: id }) => edits[id]
  });
}

/** Paths of the listed files; one that is shared ends with an asterisk. */
async function listed(...args: Parameters<typeof attribute>) {
  const { files } = await attribute(...args);
  return files.map(({ path, shared }) => `${path}${shared ? '*' : ''}`);
}

describe('edits are found', () => {
  test('in the worktree of the agent, and not next to it', async () => {
    const record = recordWith({ cwd: worktree.path, worktree });
    const next = join(workspace.path, 'b.txt');
    edits[record.agent_id] = { paths: ['a.txt', next], isAll: true };
    expect(await listed(['a.txt', 'b.txt'], record)).toEqual(['a.txt']);
  });

  test('by the old name of a file, and in another Unicode form', async () => {
    const record = recordWith({ cwd: workspace.path });
    edits[record.agent_id] = { paths: ['e\u0301.txt', 'old'], isAll: true };
    const renamed = { ...change('new'), renamed_from: 'old' };
    const { files, leftOut } = await attributeChanges(
      [change('\u00e9.txt'), renamed, change('c.txt')],
      record,
      [],
      {
        workspace: workspace.path,
        store,
        editsOf: async () => edits['0badcafe']
      }
    );
    expect(files).toEqual([change('\u00e9.txt'), renamed]);
    expect(leftOut).toBe(1);
  });
});

describe('in a worktree that an agent reuses,', () => {
  const later = () =>
    recordWith({ agent_id: '0badbeef', cwd: worktree.path, worktree });

  function ended(record: RunRecord, changes: Partial<Changes>): void {
    store.create(record, 'x', 'x');
    const directory = store.directoryOf(record.agent_id);
    keepChanges(directory, { v: 1, patch: null, ...changes });
  }

  test('files of the agents before it are shared', async () => {
    const first = recordWith({ cwd: worktree.path, worktree });
    ended(first, { files: [change('a.txt')], total: 1 });
    const guest = recordWith({ agent_id: '0badf00d', cwd: worktree.path });
    const path = '.agents/worktrees/0badcafe/b.txt';
    ended(guest, { files: [change(path)], total: 1 });
    const names = ['a.txt', 'b.txt', 'c.txt'];
    expect(await listed(names, later())).toEqual(['a.txt*', 'b.txt*', 'c.txt']);
    edits['0badbeef'] = { paths: ['b.txt'], isAll: true };
    expect(await listed(names, later())).toEqual(['a.txt*', 'b.txt*']);
    const { earlierIds, leftOut } = await attribute(names, later());
    expect(earlierIds.toSorted()).toEqual(['0badcafe', '0badf00d']);
    expect(leftOut).toBe(1);
  });

  test('all files are shared if it is not known what an agent before it changed', async () => {
    ended(recordWith({ worktree }), { note: 'The files were not compared.' });
    expect(await listed(['a.txt'], later())).toEqual(['a.txt*']);
  });

  test('files are not shared with an agent that was held to reading', async () => {
    ended(recordWith({ worktree, access: 'read' }), {
      files: [change('a.txt')],
      total: 1
    });
    expect(await listed(['a.txt'], later())).toEqual(['a.txt']);
  });
});
