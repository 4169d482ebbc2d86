import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect } from 'vitest';
import { superviseScript } from '../../../test/kit/agents/supervised-agent.ts';
import { until } from '../../../test/kit/judges/until.ts';
import { needing } from '../../../test/kit/workspaces/needs.ts';
import { killTree } from './kill-tree.ts';
import { locate } from './locate.ts';
import { hasProc, thisNamespace } from './process-table.ts';

const testTmux = needing('tmux and /proc', hasProc() && !!locate('tmux'));

let base: string;
let elsewhere: string;
let socket: string;

beforeEach(() => {
  base = mkdtempSync(join(tmpdir(), 'tx-'));
  elsewhere = join(tmpdir(), 'else');
  mkdirSync(elsewhere, { recursive: true });
  // Short enough for a socket, wherever the temporary directory is.
  socket = join('/tmp', `troupe-${process.pid}-${base.slice(-6)}`);
});

afterEach(() => {
  for (const path of [socket, terminal()]) {
    try {
      tmuxOn(path, 'kill-server');
    } catch {
      // It has ended with its agent, or was not started.
    }
    rmSync(path, { force: true });
  }
  rmSync(base, { recursive: true, force: true });
});

testTmux(
  'a session of a person stays where its server is an agent’s',
  async () => {
    const stop = await agentWithServer();
    tmux('new-session', '-d', '-s', 'theirs', 'sleep 100');
    expect(await stop()).toEqual([]);
    expect(sessions()).toEqual(['theirs']);
  }
);

testTmux(
  'a session of the agent stays once a person has attached',
  async () => {
    const stop = await agentWithServer();
    const attach = `env -u TMUX tmux -S '${socket}' attach -t own`;
    tmuxOn(terminal(), '-f', '/dev/null', 'new-session', '-d', attach);
    await until('the person', () => tmux('list-clients') !== '');
    expect(await stop()).toEqual([]);
    expect(sessions()).toEqual(['own']);
  }
);

testTmux(
  'a window of the agent stays that a person has in a session',
  async () => {
    const stop = await agentWithServer();
    tmux('new-session', '-d', '-s', 'theirs', 'sleep 100');
    tmux('link-window', '-s', 'own', '-t', 'theirs:');
    const panes = () =>
      tmux('list-panes', '-s', '-t', 'theirs', '-F', '#{pane_pid}');
    const before = panes();
    expect(before.split('\n')).toHaveLength(2);
    expect(await stop()).toEqual([]);
    expect(panes()).toBe(before);
  }
);

testTmux(
  'a tmux server that an agent has for itself ends with it',
  async () => {
    const stop = await agentWithServer();
    expect(await stop()).toEqual([]);
    expect(sessions).toThrow();
  }
);

/** Starts an agent with a server, whose session is its own. */
async function agentWithServer() {
  const own = `tmux -f /dev/null -S '${socket}' new-session -d -s own`;
  const run = superviseScript(
    base,
    '/bin/sh',
    `${own} 'sleep 100'; echo up; sleep 100`,
    { timeoutSeconds: 60 }
  );
  await until('the server', () => run.read('stdout') === 'up\n');
  return async () => {
    const { directory } = run;
    const report = await killTree({ directory, place: thisNamespace() });
    await run.ended;
    return report.survivors;
  };
}

/** The socket of a tmux that is the terminal of a person. */
function terminal(): string {
  return `${socket}-outer`;
}

function sessions(): string[] {
  return tmux('list-sessions', '-F', '#{session_name}').split('\n');
}

function tmux(...args: string[]): string {
  return tmuxOn(socket, ...args);
}

function tmuxOn(path: string, ...args: string[]): string {
  return execFileSync('tmux', ['-S', path, ...args], {
    ...{ cwd: elsewhere, encoding: 'utf8', stdio: 'pipe' },
    env: { ...process.env, TMUX: undefined }
  }).trim();
}
