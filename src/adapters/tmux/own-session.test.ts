import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdirSync, mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect } from 'vitest';
import {
  programs,
  shownPanes,
  testTmux
} from '../../../test/kit/workspaces/tmux-stage.ts';
import { createTerminal } from './tmux.ts';

let path: string;
let environment: NodeJS.ProcessEnv;

beforeEach(() => {
  path = realpathSync(mkdtempSync(join(tmpdir(), 'troupe-own-')));
  const { TMUX, TMUX_PANE, ...others } = process.env;
  environment = { ...others, TMUX_TMPDIR: path, HOME: path, API_KEY: 'secret' };
});

afterEach(() => {
  try {
    tmux('kill-server');
  } catch {
    // The server has already ended.
  }
  rmSync(path, { recursive: true, force: true });
});

testTmux('the first agent gets the only pane of a new session', async () => {
  const terminal = terminalOf();
  const ref = await terminal.open(request('a1'));
  expect(ref).toEqual({ agentId: 'a1', paneId: '%0', socket: '' });
  await terminal.open(request('a2'));
  expect(sessions()).toEqual([`${ownName()} 220x50 1`]);
  expect(shownPanes(tmux).map(({ agent }) => agent)).toEqual(['a1', 'a2']);
  expect(await terminal.panes([])).toEqual([
    { ...ref, isDead: false, isHere: true },
    { agentId: 'a2', paneId: '%1', socket: '', isDead: false, isHere: true }
  ]);
});

testTmux('another server of the workspace uses the same session', async () => {
  const [one, other] = [terminalOf(), terminalOf()];
  const names = ['a1', 'a2', 'a3', 'a4'];
  const refs = await Promise.all(
    names.map((name, n) => (n % 2 === 0 ? one : other).open(request(name)))
  );
  expect(sessions()).toEqual([`${ownName()} 220x50 1`]);
  expect(
    shownPanes(tmux)
      .map(({ agent }) => agent)
      .sort()
  ).toEqual(names);
  expect(new Set(refs.map(({ paneId }) => paneId)).size).toBe(4);
});

testTmux(
  'no other session changes, and ours ends with its last agent',
  async () => {
    tmux('new-session', '-d', '-s', 'mine', '-x', '90', '-y', '30', 'exec cat');
    const mine = () =>
      shownPanes(tmux).filter(({ agent, title }) => !agent && title !== 'a1');
    const before = mine();
    const terminal = terminalOf();
    const refs = [await terminal.open(request('a1'))];
    refs.push(await terminal.open(request('a2')));
    expect(sessions()).toEqual(['mine 90x30 1', `${ownName()} 220x50 1`]);
    expect(mine()).toEqual(before);
    for (const ref of refs) await terminal.close(ref);
    expect(sessions()).toEqual(['mine 90x30 1']);
    expect(mine()).toEqual(before);
  }
);

testTmux('a session that has ended is created again', async () => {
  const terminal = terminalOf();
  await terminal.close(await terminal.open(request('a1')));
  expect(await terminal.panes([])).toEqual([]);
  await terminal.open(request('a2'));
  expect(shownPanes(tmux).map(({ agent }) => agent)).toEqual(['a2']);
});

testTmux('a tmux server without a session gets ours', async () => {
  tmux('new-session', '-d', ';', 'set', '-g', 'exit-empty', 'off');
  tmux('kill-session');
  const terminal = terminalOf();
  expect(await terminal.panes([])).toEqual([]);
  await terminal.open(request('a1'));
  expect(shownPanes(tmux).map(({ agent }) => agent)).toEqual(['a1']);
});

testTmux('agents open in the window that already has agents', async () => {
  const terminal = terminalOf();
  await terminal.open(request('a1'));
  tmux('new-window', '-t', ownName(), 'exec cat');
  await terminal.open(request('a2'));
  const windows = shownPanes(tmux).map(({ agent, window }) => [agent, window]);
  expect(windows).toEqual([
    ['a1', '@0'],
    ['a2', '@0'],
    ['', '@1']
  ]);
});

testTmux('our session is found after the user renames it', async () => {
  const refs = [await terminalOf().open(request('a1'))];
  tmux('new-window', '-t', ownName(), 'exec cat');
  tmux('rename-session', '-t', ownName(), 'my agents');
  refs.push(await terminalOf().open(request('a2')));
  expect(sessions()).toEqual(['my agents 220x50 2']);
  expect(await terminalOf().panes([])).toHaveLength(2);
  for (const ref of refs) await terminalOf().close(ref);
  await terminalOf().open(request('a3'));
  expect(sessions()).toEqual(['my agents 220x50 1']);
});

testTmux(
  'a session with only our agents is ours without its mark',
  async () => {
    await terminalOf().open(request('a1'));
    tmux('set-option', '-u', '-t', ownName(), '@troupe_home');
    tmux('rename-session', '-t', ownName(), 'mine');
    await terminalOf().open(request('a2'));
    expect(sessions()).toEqual(['mine 220x50 1']);
  }
);

testTmux(
  'a session with panes of the user is not ours without its mark',
  async () => {
    tmux('new-session', '-d', '-s', 'mine', '-x', '90', '-y', '30', 'exec cat');
    tmux(
      'set-option',
      '-p',
      '-t',
      'mine',
      '@troupe_workspace',
      ownName().slice(7)
    );
    tmux('split-window', '-t', 'mine', 'exec cat');
    await terminalOf().open(request('a1'));
    expect(sessions()).toEqual(['mine 90x30 1', `${ownName()} 220x50 1`]);
  }
);

testTmux('the error of a full window names its session', async () => {
  const terminal = terminalOf();
  await terminal.open(request('a1'));
  tmux('resize-window', '-t', ownName(), '-x', '30', '-y', '8');
  await expect(terminal.open(request('a2'))).rejects.toMatchObject({
    code: 'window_full',
    hint: expect.stringContaining(`tmux attach -t '${ownName()}'`)
  });
});

testTmux('a tmux server that we start gets no secret', async () => {
  await terminalOf().open(request('a1'));
  const environment = tmux('show-environment', '-g');
  expect(environment).toContain(`HOME=${path}`);
  expect(environment).not.toContain('secret');
});

testTmux('each workspace has its own session', async () => {
  const other = join(path, 'other');
  mkdirSync(other);
  await terminalOf().open(request('a1'));
  await terminalOf(other).open(request('a1'));
  expect(sessions()).toHaveLength(2);
  expect(await terminalOf().panes([])).toHaveLength(1);
  expect(await terminalOf(other).panes([])).toMatchObject([{ paneId: '%1' }]);
});

testTmux('our session survives destroy-unattached', async () => {
  tmux('new-session', '-d', '-s', 'mine', 'exec cat');
  tmux('set-option', '-g', 'exit-unattached', 'off');
  tmux('set-option', '-t', 'mine', 'destroy-unattached', 'off');
  tmux('set-option', '-g', 'destroy-unattached', 'on');
  await terminalOf().open(request('a1'));
  await terminalOf().open(request('a2'));
  expect(sessions()).toEqual(['mine 80x24 1', `${ownName()} 220x50 1`]);
});

function terminalOf(workspace = path) {
  return createTerminal({
    workspace,
    programs,
    environment,
    above: () => []
  });
}

function request(agentId: string) {
  return { agentId, title: agentId, cwd: path };
}

function ownName(): string {
  const hash = createHash('sha256').update(path).digest('hex');
  return `troupe-${hash.slice(0, 6)}`;
}

/** Name, size and number of windows. */
function sessions(): string[] {
  const format =
    '#{session_name} #{window_width}x#{window_height} #{session_windows}';
  return tmux('list-sessions', '-F', format).split('\n');
}

function tmux(...args: string[]): string {
  return execFileSync('tmux', ['-u', '-f', '/dev/null', ...args], {
    encoding: 'utf8',
    env: environment,
    stdio: ['ignore', 'pipe', 'pipe']
  }).replace(/\n$/, '');
}
