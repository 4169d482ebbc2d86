import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createTempWorkspace, type TempWorkspace } from './temp-workspace.ts';

/** A workspace that is a git repository, with an engine that runs scripts. */
export interface GitWorkspace extends TempWorkspace {
  /** One git command in the workspace; gives its stdout. */
  git: (...args: string[]) => string;
  /** Commits everything that is there. */
  commit: (message: string) => string;
  /** Every byte below `.git`, by path: what may not change. */
  gitFiles: () => string;
}

/** The author of commits, in tests and in agents' scripts. */
export const author = '-c user.name=Tester -c user.email=tester@localhost';

/** Its prompt is a shell script; what that puts out is the answer. */
const shell = `export default {
  kind: 'cli',
  name: 'shell',
  description: 'Runs its prompt.',
  command: '/bin/sh',
  args: () => ['-s'],
  access: { read: 'asked', write: 'asked', full: 'asked' }
};
`;

export function createGitWorkspace(): GitWorkspace {
  const workspace = createTempWorkspace();
  workspace.write('shell.mjs', shell);
  const engines = { rehearsal: true };
  const config = { plugins: ['./shell.mjs'], engines };
  workspace.write('.trouperc.json', JSON.stringify(config));
  workspace.write('readme.txt', 'one\ntwo\nthree\n');
  const git = (...args: string[]) => gitIn(workspace.path, ...args);
  const commit = (message: string) => {
    git('add', '--all');
    git(...author.split(' '), 'commit', '--quiet', '--message', message);
    return git('rev-parse', 'HEAD').trim();
  };
  git('init', '--quiet', '--initial-branch', 'main');
  commit('first');
  const gitFiles = () =>
    execFileSync('find', ['.git', '-type', 'f', '-exec', 'cksum', '{}', '+'], {
      cwd: workspace.path,
      encoding: 'utf8'
    })
      .split('\n')
      .sort()
      .join('\n');
  return { ...workspace, git, commit, gitFiles };
}

/** Makes a repository with one commit of a workspace. */
export function makeRepository({ path, write }: TempWorkspace): void {
  write('one.txt', '1\n');
  gitIn(path, 'init', '--quiet');
  gitIn(path, 'add', '--all');
  gitIn(path, ...author.split(' '), 'commit', '--quiet', '-m', 'first');
}

/** One git command, without configuration and repositories from outside. */
export function gitIn(directory: string, ...args: string[]): string {
  return execFileSync('git', args, {
    cwd: directory,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'pipe'],
    env: {
      PATH: process.env.PATH,
      HOME: '/nonexistent',
      GIT_CONFIG_NOSYSTEM: '1',
      GIT_CEILING_DIRECTORIES: tmpdir(),
      LC_ALL: 'C'
    }
  });
}

/** A repository of its own below a directory, with one commit. */
export function createNested(directory: string): void {
  gitIn(directory, 'init', '--quiet');
  writeFileSync(join(directory, 'inner.txt'), 'inner\n');
  gitIn(directory, 'add', '--all');
  gitIn(directory, ...author.split(' '), 'commit', '--quiet', '-m', 'inner');
}
