import { afterEach, beforeEach, expect } from 'vitest';
import { until } from '../../../test/kit/judges/until.ts';
import {
  type TmuxStage,
  testTmux,
  tmuxStage
} from '../../../test/kit/workspaces/tmux-stage.ts';
import { processEntry } from '../child-process/process-table.ts';

let stage: TmuxStage;
let others: TmuxStage[];

beforeEach(() => {
  stage = tmuxStage();
  others = [];
});

afterEach(() => {
  for (const one of [stage, ...others]) one.stop();
});

testTmux('only the pane of that agent is closed', async () => {
  const terminal = stage.terminal();
  const [first] = await stage.openMany(terminal, 2);
  if (!first) throw new Error('None opened.');
  const before = stage.snapshot();
  await terminal.close({ ...first, agentId: 'a9' });
  await terminal.close({ ...first, paneId: '%0' });
  await terminal.close({ ...first, paneId: '%99' });
  await terminal.close({ ...first, socket: `${stage.path}/none.sock` });
  expect(stage.snapshot()).toBe(before);
  await terminal.close(first);
  await terminal.close(first);
  expect(stage.panes().map(({ agent }) => agent)).toEqual(['', 'a2']);
});

testTmux(
  'a pane of a later server with the same id is not touched',
  async () => {
    const old = stage.terminal();
    const [first] = await stage.openMany(old, 1);
    if (!first) throw new Error('None opened.');
    const server = Number(stage.tmux('display-message', '-p', '#{pid}'));
    stage.tmux('kill-server');
    await until('the server to end', () => !processEntry(server) || undefined);
    stage.tmux('new-session', '-d', 'exec cat');
    stage.tmux('split-window', 'exec cat');
    const before = stage.snapshot();
    expect(before).toContain(first.paneId);
    await old.close(first);
    expect(await old.screen(first, 5)).toEqual([]);
    expect(stage.snapshot()).toBe(before);
  }
);

testTmux('many concurrent closings keep the layout in order', async () => {
  const terminal = stage.terminal();
  const refs = await stage.openMany(terminal, 8);
  await Promise.all(refs.slice(2, 7).map((ref) => terminal.close(ref)));
  const panes = stage.panes();
  expect(panes.map(({ agent }) => agent)).toEqual(['', 'a1', 'a2', 'a8']);
  for (const { width, height } of panes)
    expect(width * height).toBeGreaterThan(600);
});

testTmux('panes of every named server are listed once', async () => {
  const other = tmuxStage();
  others.push(other);
  const inOther = stage.terminal(other.environment);
  const elsewhere = await inOther.open(request('b1'));
  const terminal = stage.terminal();
  const here = await terminal.open(request('a1'));
  stage.tmux('new-window', '-t', 'main', 'exec cat');
  const away = await terminal.open(request('a2'));
  stage.tmux('break-pane', '-d', '-s', away.paneId);
  const foreign = other.terminal();
  await foreign.open(request('c1'));
  const none = `${stage.path}/none.sock`;
  const sockets = [stage.socket, other.socket, none, other.socket];
  expect(await terminal.panes(sockets)).toEqual([
    { ...here, isDead: false, isHere: true },
    { ...away, isDead: false, isHere: false },
    { ...elsewhere, isDead: false, isHere: false }
  ]);
  expect(await terminal.panes([])).toHaveLength(2);
});

testTmux('a pane that two sessions show is listed once', async () => {
  const terminal = stage.terminal();
  await stage.openMany(terminal, 1);
  stage.tmux('new-session', '-d', '-t', 'main', '-s', 'twin');
  expect(await terminal.panes([])).toHaveLength(1);
  await terminal.open(request('a2'));
  expect(await terminal.panes([])).toHaveLength(2);
});

testTmux('the error without tmux says how to install it', async () => {
  const terminal = stage.terminal({ PATH: stage.path });
  await expect(terminal.open(request('a1'))).rejects.toMatchObject({
    code: 'no_terminal',
    hint: expect.stringContaining('orchestrator.backend')
  });
  expect(await terminal.panes([stage.socket])).toEqual([]);
});

testTmux('an error names the command and the message of tmux', async () => {
  const terminal = stage.terminal();
  stage.tmux('set-option', '-s', 'command-alias[9]', 'split-window=bad-one');
  await expect(terminal.open(request('a1'))).rejects.toMatchObject({
    code: 'terminal_failed',
    message: 'tmux split-window failed: unknown command: bad-one.'
  });
});

testTmux('an agent can be opened after a failure', async () => {
  const terminal = stage.terminal();
  stage.tmux('resize-window', '-t', 'main', '-x', '30', '-y', '8');
  const first = terminal.open(request('a1'));
  await expect(first).rejects.toMatchObject({ code: 'window_full' });
  stage.tmux('resize-window', '-t', 'main', '-x', '80', '-y', '24');
  await terminal.open(request('a1'));
  expect(stage.panes()).toHaveLength(2);
});

function request(agentId: string) {
  return { agentId, title: agentId, cwd: stage.path };
}
