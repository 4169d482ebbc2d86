import { execFileSync } from 'node:child_process';
import {
  appendFileSync,
  chmodSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync
} from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import {
  author,
  createNested,
  gitIn
} from '../../../test/kit/workspaces/git-workspace.ts';
import {
  createTwoLooks,
  type TwoLooks
} from '../../../test/kit/workspaces/two-looks.ts';

let project: TwoLooks;

beforeEach(() => {
  project = createTwoLooks();
});

afterEach(() => project.remove());

describe('a comparison reports the files that changed', () => {
  test('with the numbers of lines added and removed', async () => {
    const { files } = await project.seen(() => {
      project.write('readme.txt', 'one\n2\nthree\nfour\n');
      project.write('new/file.txt', 'a\nb\n');
    });
    expect(files).toEqual([
      { path: 'new/file.txt', added: 2, removed: 0 },
      { path: 'readme.txt', added: 2, removed: 1 }
    ]);
  });

  test('as an empty list when nothing happened, also in a dirty project', async () => {
    project.write('readme.txt', 'mine\n');
    project.write('untracked.txt', 'mine\n');
    project.git('add', 'readme.txt');
    expect(await project.seen(() => undefined)).toEqual({
      files: []
    });
  });

  test('without changes that were uncommitted before', async () => {
    project.write('readme.txt', 'mine\n');
    project.write('untracked.txt', 'mine\n');
    const { files } = await project.seen(() =>
      appendFileSync(join(project.path, 'untracked.txt'), 'its\n')
    );
    expect(files).toEqual([{ path: 'untracked.txt', added: 1, removed: 0 }]);
  });

  test('also when they were committed or staged meanwhile', async () => {
    const { files } = await project.seen(() => {
      project.write('committed.txt', 'x\n');
      project.commit('by the agent');
      project.write('staged.txt', 'x\n');
      project.git('add', 'staged.txt');
    });
    expect(files.map(({ path }) => path)).toEqual([
      'committed.txt',
      'staged.txt'
    ]);
  });

  test('also when they are ignored and were committed or staged by force', async () => {
    project.write('.gitignore', 'build/\n*.log\n');
    project.write('build/before.js', '1\n');
    project.git('add', '-f', 'build/before.js');
    project.commit('patterns');
    const { files } = await project.seen(() => {
      project.write('build/committed.js', '1\n');
      project.git('add', '-f', 'build/committed.js');
      project.commit('by the agent');
      project.write('staged.log', '1\n');
      project.git('add', '-f', 'staged.log');
      project.write('build/ignored.js', '1\n');
    });
    expect(files.map(({ path }) => path)).toEqual([
      'build/committed.js',
      'staged.log'
    ]);
  });

  test('with both names of a renamed file, and null counts for a binary file', async () => {
    project.write('bytes.bin', 'a\0b');
    project.commit('bytes');
    const at = (name: string) => join(project.path, name);
    const { files } = await project.seen(() => {
      renameSync(at('readme.txt'), at('manual.txt'));
      writeFileSync(at('bytes.bin'), Buffer.from([0, 1, 2]));
    });
    expect(files).toEqual([
      { path: 'bytes.bin', added: null, removed: null },
      {
        path: 'manual.txt',
        added: 0,
        removed: 0,
        renamed_from: 'readme.txt'
      }
    ]);
  });

  test('with names that hold any characters', async () => {
    const names = ['-dash', 'a\tb', 'line\nbreak', 'quo"te', 'ünïcode', ' sp '];
    const { files } = await project.seen(() => {
      for (const name of names) project.write(name, 'x\n');
    });
    expect(files.map(({ path }) => path).sort()).toEqual([...names].sort());
  });

  test('when a file became a directory, a link or nothing', async () => {
    project.write('data', 'x\n');
    project.write('gone', 'x\n');
    project.commit('more');
    const at = (name: string) => join(project.path, name);
    const { files } = await project.seen(() => {
      for (const name of ['data', 'gone', 'readme.txt']) rmSync(at(name));
      mkdirSync(at('data'));
      project.write('data/inner', 'different\n');
      symlinkSync('/nowhere', at('readme.txt'));
    });
    expect(files.map(({ path }) => path).sort()).toEqual([
      'data',
      'data/inner',
      'gone',
      'readme.txt'
    ]);
  });

  test('also when size and time of a file stayed the same', async () => {
    const path = project.write('same.txt', 'aaaa\n');
    const moment = new Date(Math.floor(Date.now() / 1000) * 1000);
    utimesSync(path, moment, moment);
    project.commit('same');
    const { files } = await project.seen(() => {
      writeFileSync(path, 'bbbb\n');
      utimesSync(path, moment, moment);
    });
    expect(files).toEqual([{ path: 'same.txt', added: 1, removed: 1 }]);
  });

  test('as a patch that git apply accepts', async () => {
    project.write('mine.txt', 'mine\n');
    await project.seen(() => {
      project.write('readme.txt', 'one\n2\nthree\n');
      writeFileSync(join(project.path, 'new.bin'), Buffer.from([0, 255, 7]));
      project.write('with "quote"\n.txt', 'x\n');
    });
    const copy = join(project.home, 'copy');
    project.git('clone', '--quiet', '.', copy);
    writeFileSync(join(copy, 'mine.txt'), 'mine\n');
    gitIn(copy, 'apply', project.patch);
    for (const name of ['readme.txt', 'new.bin', 'with "quote"\n.txt'])
      expect(readFileSync(join(copy, name))).toEqual(
        readFileSync(join(project.path, name))
      );
  });
});

describe('a comparison leaves out', () => {
  test('our own files, even if the project has these directories', async () => {
    project.write('.agents/notes.md', 'x\n');
    project.write('logs/app.log', 'x\n');
    project.commit('both');
    const { files } = await project.seen(() => {
      for (const name of [
        'IAC.md',
        'CONTEXT.me.md',
        'agents/a.md',
        'archive/1'
      ])
        project.write(`logs/${name}`, 'ours\n');
      for (const name of ['agents', 'council', 'run', 'worktrees'])
        project.write(`.agents/${name}/a`, 'ours\n');
      project.write('.agents/notes.md', 'its\n');
      project.write('.agents/skills/new.md', 'its\n');
      project.write('logs/app.log', 'its\n');
    });
    expect(files.map(({ path }) => path)).toEqual([
      '.agents/notes.md',
      '.agents/skills/new.md',
      'logs/app.log'
    ]);
  });

  test('ignored files', async () => {
    project.write('.gitignore', 'build/\n');
    const { files } = await project.seen(() =>
      project.write('build/out', 'x\n')
    );
    expect(files).toEqual([]);
  });

  test('nested repositories, and reports that', async () => {
    project.write('vendor/lib/x.txt', 'x\n');
    createNested(join(project.path, 'vendor/lib'));
    mkdirSync(join(project.path, 'empty'));
    gitIn(join(project.path, 'empty'), 'init', '--quiet');
    const { files, unseen } = await project.seen(() =>
      project.write('vendor/lib/inner.txt', 'changed\n')
    );
    expect(files).toEqual([]);
    expect(unseen).toBe(
      'Nested repositories were not compared: empty/, vendor/lib/.'
    );
  });

  test('uncommitted changes in a submodule', async () => {
    const library = join(project.home, 'library');
    mkdirSync(library);
    createNested(library);
    const allow = ['-c', 'protocol.file.allow=always'];
    project.git(...allow, 'submodule', '--quiet', 'add', library, 'lib');
    project.commit('submodule');
    const { files, unseen } = await project.seen(() => {
      const inner = join(project.path, 'lib');
      writeFileSync(join(inner, 'inner.txt'), 'committed\n');
      gitIn(inner, ...author.split(' '), 'commit', '--quiet', '-am', 'x');
      writeFileSync(join(inner, 'inner.txt'), 'not committed\n');
    });
    expect(files).toEqual([{ path: 'lib', added: 1, removed: 1 }]);
    expect(unseen).toBe('Only the commits of submodules were compared.');
  });

  test('files that cannot be read, and reports that', async () => {
    const { files, unseen } = await asNobody(project, () =>
      project.seen(() => {
        chmodSync(project.write('secret.txt', 'x\n'), 0);
        project.write('open.txt', 'x\n');
      })
    );
    expect(files.map(({ path }) => path)).toEqual(['open.txt']);
    expect(unseen).toContain('secret.txt');
  });
});

/** Drops root's rights during the test, because root can read every file. */
async function asNobody<T>(
  { path, home }: TwoLooks,
  work: () => Promise<T>
): Promise<T> {
  if (process.geteuid?.() !== 0) return work();
  const nobody = 65_534;
  execFileSync('chown', ['-R', String(nobody), join(path, '..')]);
  vi.stubEnv('HOME', home);
  process.seteuid?.(nobody);
  try {
    return await work();
  } finally {
    process.seteuid?.(0);
    vi.unstubAllEnvs();
  }
}
