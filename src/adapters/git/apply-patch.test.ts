import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync
} from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import { until } from '../../../test/kit/judges/until.ts';
import {
  createGitWorkspace,
  type GitWorkspace
} from '../../../test/kit/workspaces/git-workspace.ts';
import { needing } from '../../../test/kit/workspaces/needs.ts';
import { locate } from '../child-process/locate.ts';
import { applyPatch } from './apply-patch.ts';

const signal = new AbortController().signal;
let project: GitWorkspace;
let patch: string;

beforeEach(() => {
  project = createGitWorkspace();
  onTestFinished(project.remove);
  patch = join(project.home, 'changes.diff');
  project.write('.gitignore', '*.log\nbuild/\n');
  project.write('a.txt', 'a\n');
  project.write('d/f.txt', 'f\n');
  project.write('z.txt', 'z\n');
  project.commit('more');
});

const at = (...path: string[]) => join(project.path, ...path);
const remove = (path: string) => rmSync(at(path), { recursive: true });
const status = () => project.git('status', '--porcelain', '--ignored');

/** Writes a patch of what a function changes, and takes that back. */
function patchOf(change: () => void): void {
  change();
  project.git('add', '--all', '--force');
  const args = ['--cached', '--binary', '--full-index', '-M', 'HEAD'];
  writeFileSync(patch, project.git('diff', ...args));
  project.git('reset', '--quiet', '--hard');
}

const apply = () => applyPatch(project.path, patch, signal);

/** Every file of the work tree with its content, and the index. */
function everything(): string[] {
  const files = readdirSync(project.path, { recursive: true })
    .map(String)
    .filter((path) => !path.startsWith('.git/') && statSync(at(path)).isFile())
    .map((path) => `${path}: ${readFileSync(at(path), 'utf8')}`);
  return [...files.sort(), project.git('ls-files', '--stage')];
}

/** Puts a script before the git that writes: `git` is the real one. */
function asGit(script: string, pattern = '*" apply --3way "*'): void {
  const real = locate('git');
  const program = join(project.bin, 'git');
  writeFileSync(
    program,
    `#!/bin/sh
git() { '${real}' "$@"; }
case " $* " in ${pattern}) ${script};; esac
exec '${real}' "$@"
`
  );
  chmodSync(program, 0o755);
  vi.stubEnv('PATH', `${project.bin}:${process.env.PATH}`);
  onTestFinished(() => {
    vi.unstubAllEnvs();
  });
}

describe('what is in the way is named, and nothing changes:', () => {
  const edit = () => project.write('a.txt', 'A\n');
  const newFile = (path: string) => () => {
    edit();
    project.write(path, 'new\n');
  };
  const mine = (path: string) => () => project.write(path, 'mine\n');
  const directoryToFile = () => {
    edit();
    remove('d');
    project.write('d', 'new\n');
  };

  test.each<[string, () => void, () => void, string[]]>([
    ['a directory for a new file', newFile('n'), mine('n/x'), ['n/']],
    ['an empty one', newFile('n'), () => mkdirSync(at('n')), ['n/']],
    ['an ignored one', newFile('build'), mine('build/x'), ['build/']],
    ['an ignored file', newFile('x.log'), mine('x.log'), ['x.log']],
    ['a file for a new directory', newFile('n/m/x'), mine('n'), ['n']],
    [
      'a link for a new directory',
      newFile('n/x'),
      () => symlinkSync(project.home, at('n')),
      ['n']
    ],
    [
      'files in a directory that becomes a file',
      directoryToFile,
      () => {
        mine('d/mïne.txt')();
        mine('d/sub/x.log')();
      },
      ['d/mïne.txt', 'd/sub/']
    ]
  ])('%s', async (_, change, prepare, files) => {
    patchOf(change);
    prepare();
    const before = everything();
    const application = await apply();
    expect(everything()).toEqual(before);
    expect(application.status).toBe('overlap');
    expect(application.files.toSorted()).toEqual(files);
  });

  test('a directory that becomes a file, and a file that becomes one, apply', async () => {
    patchOf(() => {
      directoryToFile();
      remove('z.txt');
      project.write('z.txt/inner.txt', 'inner\n');
    });
    expect((await apply()).status).toBe('applied');
    expect(readFileSync(at('d'), 'utf8')).toBe('new\n');
    expect(readFileSync(at('z.txt/inner.txt'), 'utf8')).toBe('inner\n');
  });
});

describe('when git fails halfway', () => {
  const many = () => {
    project.write('a.txt', 'A\n');
    project.write('d/f.txt', 'F\n');
    project.write('neü/ñ.txt', 'new\n');
    remove('z.txt');
    rmSync(at('é.txt'), { force: true });
  };
  const isRoot = process.getuid?.() === 0;
  const setpriv = isRoot ? locate('setpriv') : undefined;

  needing('right to give up rights', !isRoot || setpriv !== undefined)(
    'as one folder cannot be written, all files are as before',
    async () => {
      patchOf(many);
      // Root needs a git to which modes apply.
      const rights = '-dac_override,-dac_read_search';
      const bound = `--bounding-set ${rights} --inh-caps ${rights}`;
      if (setpriv) asGit(`exec '${setpriv}' ${bound} '${locate('git')}' "$@"`);
      chmodSync(at('d'), 0o555);
      const before = everything();
      const application = await apply();
      chmodSync(at('d'), 0o755);
      expect(application.status).toBe('refused');
      expect(application.reason).toContain('d/f.txt');
      expect(everything()).toEqual(before);
      expect(status()).toBe('');
      expect((await apply()).status).toBe('applied');
    }
  );

  test('files, links, modes and the index are restored', async () => {
    symlinkSync('a.txt', at('link'));
    project.write('é.txt', 'é\n');
    chmodSync(at('d/f.txt'), 0o755);
    project.commit('link');
    patchOf(() => {
      many();
      remove('link');
      remove('d');
      project.write('d', 'a file\n');
      project.write('z.txt/inner.txt', 'inner\n');
    });
    const before = everything();
    asGit('git "$@"; echo "error: no room" >&2; exit 1');
    const application = await apply();
    expect(application).toMatchObject({
      status: 'refused',
      reason: 'error: no room'
    });
    expect(everything()).toEqual(before);
    expect(status()).toBe('');
    expect(existsSync(at('neü'))).toBe(false);
  });

  test('files that cannot be restored are named', async () => {
    patchOf(many);
    asGit('rm a.txt z.txt; mkdir -p a.txt/held; exit 1');
    expect(await apply()).toMatchObject({
      status: 'partial',
      files: ['a.txt']
    });
    expect(readFileSync(at('z.txt'), 'utf8')).toBe('z\n');
  });
});

test('the time limit of the checks does not end a git that writes', async () => {
  patchOf(() => project.write('a.txt', 'A\n'));
  const [started, go] = ['started', 'go'].map((name) =>
    join(project.home, name)
  ) as [string, string];
  asGit(`: >'${started}'; until [ -e '${go}' ]; do sleep 0.02; done`);
  const limit = new AbortController();
  const application = applyPatch(project.path, patch, limit.signal);
  await until('git writes', () => existsSync(started));
  limit.abort(new Error('too late'));
  writeFileSync(go, '');
  expect(await application).toMatchObject({ status: 'applied' });
});

describe('a patch that is there already has nothing to do:', () => {
  test.each<[string, () => void]>([
    ['an edit', () => project.write('a.txt', 'A\n')],
    ['a new file', () => project.write('n.txt', 'new\n')],
    ['a deletion', () => remove('z.txt')],
    ['a renamed file', () => renameSync(at('z.txt'), at('y.txt'))],
    [
      'all of it',
      () => {
        remove('d');
        project.write('d', 'new\n');
        renameSync(at('z.txt'), at('y.txt'));
        project.write('a.txt', 'A\n');
      }
    ]
  ])('%s', async (_, change) => {
    patchOf(change);
    expect((await apply()).status).toBe('applied');
    expect(await apply()).toEqual({ status: 'nothing', files: [] });
    project.commit('applied');
    expect(await apply()).toEqual({ status: 'nothing', files: [] });
  });

  test('but a part of it is a conflict', async () => {
    patchOf(() => {
      remove('z.txt');
      project.write('a.txt', 'A\n');
    });
    remove('z.txt');
    project.commit('a part');
    expect(await apply()).toMatchObject({
      status: 'conflict',
      reason: expect.stringContaining('z.txt')
    });
    expect(readFileSync(at('a.txt'), 'utf8')).toBe('a\n');
  });
});

describe('files that a filter of git changes are refused', () => {
  const rot = 'tr a-zA-Z n-za-mN-ZA-M';
  const configure = (...names: string[]) => {
    for (const name of names)
      for (const key of ['clean', 'smudge'])
        project.git('config', `filter.${name}.${key}`, rot);
  };
  const attributes = (name: string) =>
    project.write('.gitattributes', `*.secret filter=${name}\n`);
  const edit = () => {
    project.write('k.secret', 'new\n');
    project.write('a.txt', 'A\n');
  };

  test.each<[string, () => void, () => void]>([
    [
      'by attributes of the project',
      () => {
        configure('my.crypt');
        attributes('my.crypt');
        project.write('k.secret', 'old\n');
        project.commit('filtered');
      },
      edit
    ],
    [
      'by attributes that the patch brings along',
      () => configure('crypt'),
      () => {
        attributes('crypt');
        edit();
      }
    ],
    [
      'also if they conflict',
      () => {
        project.write('k.secret', 'old\n');
        project.commit('old');
      },
      edit
    ]
  ])('%s', async (title, prepare, change) => {
    prepare();
    patchOf(change);
    if (title.endsWith('conflict')) {
      project.write('k.secret', 'other\n');
      attributes('crypt');
      project.commit('other');
      configure('crypt');
    }
    const before = everything();
    expect(await apply()).toEqual({
      status: 'filtered',
      files: ['k.secret']
    });
    expect(everything()).toEqual(before);
  });

  test('but not those whose filter is not configured', async () => {
    attributes('lfs');
    project.commit('attributes');
    patchOf(edit);
    expect((await apply()).status).toBe('applied');
  });
});
