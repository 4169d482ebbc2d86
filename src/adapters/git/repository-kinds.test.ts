import {
  chmodSync,
  existsSync,
  mkdirSync,
  rmSync,
  truncateSync,
  writeFileSync
} from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { author } from '../../../test/kit/workspaces/git-workspace.ts';
import {
  createTwoLooks,
  repositories,
  type TwoLooks,
  unhurried
} from '../../../test/kit/workspaces/two-looks.ts';

let project: TwoLooks;

beforeEach(() => {
  project = createTwoLooks();
});

afterEach(() => project.remove());

describe('two snapshots are compared', () => {
  test('without writing anything below .git', async () => {
    project.write('dirty.txt', 'x\n');
    const before = project.gitFiles();
    await project.seen(() => project.write('readme.txt', 'changed\n'));
    expect(project.gitFiles()).toBe(before);
  });

  test('in a repository without a commit', async () => {
    rmSync(join(project.path, '.git'), { recursive: true });
    project.git('init', '--quiet');
    const { files } = await project.seen(() => project.write('new.txt', 'x\n'));
    expect(files).toEqual([{ path: 'new.txt', added: 1, removed: 0 }]);
  });

  test('for files that git is set to skip', async () => {
    for (const name of ['assumed', 'skipped', 'gone'])
      project.write(`${name}.txt`, 'x\n');
    project.commit('more');
    rmSync(join(project.path, 'gone.txt'));
    project.git('update-index', '--assume-unchanged', 'assumed.txt');
    project.git('update-index', '--skip-worktree', 'skipped.txt', 'gone.txt');
    project.write('assumed.txt', 'mine\n');
    const before = project.gitFiles();
    const { files } = await project.seen(() => {
      project.write('assumed.txt', 'mine\nand more\n');
      project.write('skipped.txt', 'x\nand more\n');
    });
    expect(files).toEqual([
      { path: 'assumed.txt', added: 1, removed: 0 },
      { path: 'skipped.txt', added: 1, removed: 0 }
    ]);
    expect(project.gitFiles()).toBe(before);
  });

  test('from a subdirectory, for the whole repository', async () => {
    project.write('sub/inner.txt', 'x\n');
    project.view = { ...project.view, directory: join(project.path, 'sub') };
    const { files } = await project.seen(() =>
      project.write('readme.txt', 'x\n')
    );
    expect(files.map(({ path }) => path)).toEqual(['readme.txt']);
  });

  test('in a workspace below the top, with paths relative to the workspace', async () => {
    project.write('sub/inner.txt', 'x\n');
    const root = join(project.path, 'sub');
    project.view = { ...project.view, directory: root };
    project.view.owned = [root];
    project.view.seenFrom = root;
    const { files } = await project.seen(() => {
      project.write('sub/inner.txt', 'y\n');
      project.write('sub/.agents/agents/x', 'ours\n');
      project.write('readme.txt', 'x\n');
    });
    expect(files.map(({ path }) => path)).toEqual([
      '../readme.txt',
      'inner.txt'
    ]);
  });

  test('in a worktree', async () => {
    const path = join(project.home, 'tree');
    project.git('worktree', 'add', '--quiet', path);
    project.view = { ...project.view, directory: path, owned: [] };
    project.view.standsFor = project.path;
    const { files } = await project.seen(() => {
      writeFileSync(join(path, 'readme.txt'), '');
      mkdirSync(join(path, '.agents/agents'), { recursive: true });
      writeFileSync(join(path, '.agents/agents/mine.md'), 'x\n');
    });
    expect(files).toEqual([
      { path: '.agents/agents/mine.md', added: 1, removed: 0 },
      { path: 'readme.txt', added: 0, removed: 3 }
    ]);
  });

  test('in a repository with SHA-256 object names', async () => {
    rmSync(join(project.path, '.git'), { recursive: true });
    project.git('init', '--quiet', '--object-format=sha256');
    project.commit('first');
    const { files } = await project.seen(() => project.write('readme.txt', ''));
    expect(files).toEqual([{ path: 'readme.txt', added: 0, removed: 3 }]);
  });

  test('in the middle of a merge with conflicts', async () => {
    project.git('checkout', '--quiet', '-b', 'other');
    project.write('readme.txt', 'theirs\n');
    project.commit('theirs');
    project.git('checkout', '--quiet', 'main');
    project.write('readme.txt', 'ours\n');
    project.commit('ours');
    expect(() =>
      project.git(...author.split(' '), 'merge', '--quiet', 'other')
    ).toThrow();
    const { files } = await project.seen(() =>
      project.write('readme.txt', 'both\n')
    );
    expect(files.map(({ path }) => path)).toEqual(['readme.txt']);
  });

  test('with a split index', async () => {
    project.git('update-index', '--split-index');
    project.write('second.txt', 'x\n');
    project.git('add', 'second.txt');
    const { files } = await project.seen(() => project.write('readme.txt', ''));
    expect(files).toEqual([{ path: 'readme.txt', added: 0, removed: 3 }]);
  });

  test('with ten thousand files', async () => {
    for (let index = 0; index < 10_000; index += 1)
      project.write(`many/${index % 100}/${index}.txt`, `${index}\n`);
    const { files } = await project.seen(() => {
      for (let index = 0; index < 300; index += 1)
        project.write(`many/${index % 100}/${index}.txt`, 'changed\n');
    });
    expect(files).toHaveLength(300);
  });

  test('only where there is a repository', async () => {
    rmSync(join(project.path, '.git'), { recursive: true });
    expect(repositories.topOf(project.path)).toBeUndefined();
    mkdirSync(join(project.path, '.git'));
    expect(repositories.topOf(project.path)).toBe(project.path);
    const { view, patch } = project;
    expect(await repositories.remember(view, unhurried)).toBe(false);
    expect(await repositories.compare(view, patch, unhurried)).toBeUndefined();
  });
});

describe('no program that an agent could have put into the configuration', () => {
  test('is run: no filter, no monitor, no hook, no diff of its own', async () => {
    const trace = join(project.home, 'ran');
    const text = `#!/bin/sh\necho "$0 $*" >>'${trace}'\ncat\n`;
    chmodSync(project.write('spy.sh', text), 0o755);
    // Git runs it in the top directory; an absolute path may hold a blank.
    const program = './spy.sh';
    project.write('.gitattributes', '*.txt filter=spy diff=spy\n');
    project.commit('attributes');
    for (const [name, value] of [
      ['filter.spy.clean', program],
      ['filter.spy.smudge', program],
      ['diff.spy.command', program],
      ['diff.spy.textconv', program],
      ['core.fsmonitor', program],
      ['diff.external', program]
    ])
      project.git('config', name ?? '', value ?? '');
    const { files } = await project.seen(() => project.write('readme.txt', ''));
    expect(files).toEqual([{ path: 'readme.txt', added: 0, removed: 3 }]);
    expect(existsSync(trace)).toBe(false);
    project.git('add', 'readme.txt');
    expect(existsSync(trace)).toBe(true);
  });
});

describe('uncommitted work', () => {
  const isThere = () => repositories.hasUncommitted(project.view, unhurried);

  test('is any change and any new file except our own', async () => {
    project.write('.agents/skill.md', 'x\n');
    project.write('logs/app.log', 'x\n');
    project.commit('directories');
    expect(await isThere()).toBe(false);
    for (const ours of ['.agents/run/a', 'logs/IAC.md', 'logs/agents/a.md'])
      project.write(ours, 'x\n');
    expect(await isThere()).toBe(false);
    const draft = project.write('draft.txt', 'x\n');
    expect(await isThere()).toBe(true);
    rmSync(draft);
    project.write('readme.txt', 'changed\n');
    expect(await isThere()).toBe(true);
  });

  test('is none where there is no repository', async () => {
    rmSync(join(project.path, '.git'), { recursive: true });
    mkdirSync(join(project.path, '.git'));
    expect(await isThere()).toBe(false);
  });
});

describe('a comparison fails', () => {
  test('with the reason of its signal when the time is up', async () => {
    const controller = new AbortController();
    controller.abort(new Error('too late'));
    await expect(
      repositories.remember(project.view, controller.signal)
    ).rejects.toThrow('too late');
  });

  test('where the uncommitted files are too large to copy', async () => {
    const path = project.write('huge.bin', '');
    truncateSync(path, 300 * 1024 * 1024);
    await expect(
      repositories.remember(project.view, unhurried)
    ).rejects.toThrow('larger than 256 MB');
  });

  test('with a message when git is not installed', async () => {
    const { PATH } = process.env;
    process.env.PATH = project.bin;
    try {
      await expect(
        repositories.remember(project.view, unhurried)
      ).rejects.toThrow('git is not installed');
    } finally {
      process.env.PATH = PATH;
    }
  });
});
