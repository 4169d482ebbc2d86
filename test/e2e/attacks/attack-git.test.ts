import {
  mkdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync
} from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import {
  type AttackedGit,
  createAttackedGit,
  pathsOf
} from '../../kit/workspaces/attacked-git.ts';
import {
  author,
  type GitWorkspace,
  gitIn
} from '../../kit/workspaces/git-workspace.ts';

let attacked: AttackedGit;
let workspace: GitWorkspace;
let at: AttackedGit['at'];
let outside: AttackedGit['outside'];
let run: AttackedGit['run'];
let expectNotCompared: AttackedGit['expectNotCompared'];

beforeEach(async () => {
  attacked = await createAttackedGit();
  ({ workspace, at, outside, run, expectNotCompared } = attacked);
});

afterEach(() => attacked.end());

describe('a work tree that lies elsewhere is not looked at', () => {
  test('attack: core.worktree names a directory of the user', async () => {
    workspace.git('config', 'core.worktree', outside('private'));
    await expectNotCompared(/core\.worktree/);
  });

  test('attack: a .git file leads to another repository of the user', async () => {
    gitIn(outside('private'), 'init', '--quiet');
    rmSync(at('.git'), { recursive: true });
    writeFileSync(at('.git'), `gitdir: ${outside('private', '.git')}\n`);
    await expectNotCompared(/does not lead back/);
  });

  test('attack: a .git file leads to the worktree of another repository', async () => {
    const other = outside('private');
    gitIn(other, 'init', '--quiet');
    const commit = ['commit', '--quiet', '--allow-empty', '-m', 'x'];
    gitIn(other, ...author.split(' '), ...commit);
    gitIn(other, 'worktree', 'add', '--quiet', outside('theirs'));
    rmSync(at('.git'), { recursive: true });
    writeFileSync(at('.git'), readFileSync(outside('theirs', '.git')));
    await expectNotCompared(/does not lead back/);
  });

  test('attack: .git is a link to another repository of the user', async () => {
    gitIn(outside('private'), 'init', '--quiet');
    rmSync(at('.git'), { recursive: true });
    symlinkSync(outside('private', '.git'), at('.git'));
    await expectNotCompared(/does not lead back/);
  });

  test('attack: commondir names another repository of the user', async () => {
    gitIn(outside('private'), 'init', '--quiet');
    writeFileSync(at('.git', 'commondir'), outside('private', '.git'));
    await expectNotCompared(/commondir/);
  });

  test('attack: a directory that looks like a repository names the project as its work tree', async () => {
    gitIn(workspace.path, 'init', '--quiet', '--bare', 'sub');
    gitIn(at('sub'), 'config', 'core.bare', 'false');
    gitIn(at('sub'), 'config', 'core.worktree', '..');
    const { files_changed_note: note } = await run(undefined, { cwd: 'sub' });
    expect(note).toContain('The files were not compared');
  });

  test('attack: isolate makes no worktree of a repository that leads elsewhere', async () => {
    workspace.git('config', 'core.worktree', outside('private'));
    const { data } = await run(undefined, { isolate: 'worktree' });
    expect(data).toMatchObject({ error_code: 'no_repository' });
    expect(data.error).toContain('core.worktree');
  });
});

describe('a worktree and a submodule that lead back are looked at', () => {
  async function changesIn(path: string): Promise<string[]> {
    await attacked.serve(path);
    return pathsOf(await run('touch made.txt'));
  }

  test('a linked worktree is the workspace', async () => {
    const path = outside('linked');
    workspace.git('worktree', 'add', '--quiet', path);
    expect(await changesIn(path)).toEqual(['made.txt']);
  });

  test('a submodule is the workspace', async () => {
    const above = outside('above');
    mkdirSync(above);
    gitIn(above, 'init', '--quiet');
    const add = ['submodule', '--quiet', 'add', workspace.path, 'part'];
    gitIn(above, '-c', 'protocol.file.allow=always', ...add);
    expect(await changesIn(join(above, 'part'))).toEqual(['made.txt']);
  });
});
