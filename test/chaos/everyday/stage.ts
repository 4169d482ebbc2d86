import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { locate } from '../../../src/adapters/child-process/locate.ts';
import {
  author,
  createNested,
  gitIn
} from '../../kit/workspaces/git-workspace.ts';
import { mayHaveOwnTmux } from '../../kit/workspaces/own-tmux-place.ts';
import { canMakeNamespace } from '../../kit/workspaces/pid-namespace.ts';
import { canMount, makeSmallDisk } from '../../kit/workspaces/small-disk.ts';
import { createTempWorkspace } from '../../kit/workspaces/temp-workspace.ts';
import type { Outfitter, ServerKind } from '../outfits.ts';
import { addChaosEngines } from '../program.ts';
import type { ChaosStage } from '../stage.ts';

/** A repository with a gitlink, in which people and agents work. */
export interface EverydayStage extends ChaosStage {
  git: (...args: string[]) => string;
  /**
   * Runs tmux as the user does, on the default socket; undefined where it
   * fails or there is none.
   */
  tmux: (...args: string[]) => string | undefined;
  hasTmux: boolean;
  outfit: Outfitter;
  /** The kinds of servers that there are at any time. */
  kinds: ServerKind[];
}

export const otherBranch = 'other';

const diskKilobytes = 400 * 1024;
/** Kills all that is in the namespace when its first process is killed. */
const inContainer = ['unshare', '-pf', '--mount-proc', '--kill-child'];

export function createEverydayStage(): EverydayStage {
  const disk = canMount() ? makeSmallDisk(diskKilobytes) : undefined;
  const workspace = createTempWorkspace(disk?.directory);
  const facts = mkdtempSync(join(tmpdir(), 'troupe-facts-'));
  const sockets = mkdtempSync(join(tmpdir(), 'troupe-tmux-'));
  const plugins = addChaosEngines(workspace, facts, sockets);
  const settings = {
    toolsets: ['spawn', 'runs'],
    maxConcurrent: 14,
    maxSpawnsPerMinute: 6000
  };
  const configure = (name: string, more: object) =>
    workspace.write(name, JSON.stringify({ ...settings, ...more }));
  configure('troupe.config.json', { plugins, engines: { rehearsal: {} } });
  const without = configure('without.config.json', {
    engines: { rehearsal: {} }
  });
  const git = (...args: string[]) => gitIn(workspace.path, ...args);
  fillRepository(workspace.path, workspace.write, git);
  // With a server on the usual socket, agents would use that one.
  const hasTmux = locate('tmux') !== undefined && mayHaveOwnTmux();
  const kinds: ServerKind[] = [
    'with plugins',
    'with plugins',
    'without plugins'
  ];
  if (canMakeNamespace()) kinds.push('container');
  const tmux = (...args: string[]) => {
    if (!hasTmux) return undefined;
    try {
      return execFileSync('tmux', ['-f', '/dev/null', ...args], {
        encoding: 'utf8',
        stdio: ['ignore', 'pipe', 'ignore'],
        env: {
          PATH: process.env.PATH,
          HOME: workspace.home,
          TMUX_TMPDIR: sockets
        }
      });
    } catch {
      return undefined;
    }
  };
  return {
    ...{ ...workspace, facts, disk, git, tmux, hasTmux, kinds },
    environment: {},
    terminal: undefined,
    inPanes: [],
    state: (...names) => join(workspace.record, ...names),
    outfit: (_random, kind) => ({
      about: ` ${kind}`,
      flags: kind === 'without plugins' ? ['--config', without] : [],
      env: {},
      ...(kind === 'container' ? { under: inContainer } : {}),
      counted: [`server, ${kind}`]
    }),
    close: (remove) => {
      tmux('kill-server');
      rmSync(sockets, { recursive: true, force: true });
      if (!remove) return;
      rmSync(facts, { recursive: true });
      workspace.remove();
      disk?.unmount();
    }
  };
}

function fillRepository(
  path: string,
  write: (name: string, text: string) => string,
  git: (...args: string[]) => string
): void {
  const commit = (message: string) => {
    git('add', '--all');
    git(...author.split(' '), 'commit', '--quiet', '--message', message);
  };
  git('init', '--quiet', '--initial-branch', 'main');
  write('readme.txt', 'one\ntwo\n');
  commit('first');
  git('branch', otherBranch);
  // Files of a project next to ours; the other branch lacks them.
  write('.agents/skills/lint/SKILL.md', 'Lint it.\n');
  write('packages/a/index.txt', 'a\n');
  write('readme.txt', 'one\ntwo\nthree\n');
  write('lib/inner.txt', 'inner\n');
  createNested(join(path, 'lib'));
  commit('more');
}
