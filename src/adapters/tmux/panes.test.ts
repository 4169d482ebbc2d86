import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect } from 'vitest';
import { until } from '../../../test/kit/judges/until.ts';
import {
  type ShownPane,
  type TmuxStage,
  testTmux,
  tmuxStage
} from '../../../test/kit/workspaces/tmux-stage.ts';

let stage: TmuxStage;

beforeEach(() => {
  stage = tmuxStage();
});

afterEach(() => stage.stop());

testTmux(
  'a pane opens where troupe runs, even while the user views another window',
  async () => {
    const { tmux } = stage;
    tmux('new-window', '-d', '-t', 'main', 'exec cat');
    tmux('new-session', '-d', '-s', 'other', 'exec cat');
    tmux('new-window', '-t', 'other', 'exec cat');
    await stage.attach('other', 100, 30);
    const looking = () =>
      tmux('list-clients', '-F', '#{client_session} #{window_id} #{pane_id}');
    const before = looking();
    const [home] = stage.panes();
    const ref = await open(stage, 'a1');
    const pane = stage.panes().find(({ id }) => id === ref.paneId);
    expect(pane?.window).toBe(home?.window);
    expect(ref).toEqual({
      agentId: 'a1',
      paneId: pane?.id,
      socket: stage.socket
    });
    expect(looking()).toBe(before);
    expect(before).toContain('other');
  }
);

describe('without TMUX_PANE', () => {
  const wrong = [undefined, '', '%99', 'main', '%0 '];

  testTmux('a pane opens in the window of our ancestors', async () => {
    const { tmux } = stage;
    const [home] = stage.panes();
    const pid = Number(tmux('display', '-p', '-t', 'main:', '#{pane_pid}'));
    tmux('new-window', '-t', 'main', 'exec cat');
    for (const [index, pane] of wrong.entries()) {
      const above = () => [process.pid, pid];
      const terminal = stage.terminal({ TMUX_PANE: pane }, above);
      const ref = await terminal.open(request(stage, `a${index}`));
      const found = stage.panes().find(({ id }) => id === ref.paneId);
      expect(found?.window).toBe(home?.window);
    }
  });

  testTmux('no pane opens if no pane is an ancestor', async () => {
    stage.tmux('new-window', '-t', 'main', 'exec cat');
    const before = stage.snapshot();
    for (const pane of wrong) {
      const terminal = stage.terminal({ TMUX_PANE: pane });
      await expect(terminal.open(request(stage, 'a'))).rejects.toMatchObject({
        code: 'terminal_failed',
        message: expect.stringContaining('TMUX_PANE')
      });
      expect(await terminal.panes([])).toEqual([]);
    }
    expect(stage.snapshot()).toBe(before);
  });

  testTmux('the process of a dead pane is no ancestor', async () => {
    const { tmux } = stage;
    tmux('set-option', '-g', 'remain-on-exit', 'on');
    tmux('new-window', '-t', 'main', 'exec true');
    const dead = () =>
      tmux('list-panes', '-aF', '#{pane_dead} #{pane_pid}')
        .split('\n')
        .find((line) => line.startsWith('1 '));
    const [, pid] = (await until('the pane to end', dead)).split(' ');
    const terminal = stage.terminal({ TMUX_PANE: '' }, () => [Number(pid)]);
    await expect(terminal.open(request(stage, 'a'))).rejects.toMatchObject({
      code: 'terminal_failed'
    });
  });
});

testTmux('a terminal that is gone is a clear error', async () => {
  const terminal = stage.terminal();
  stage.tmux('kill-server');
  await expect(terminal.open(request(stage, 'a1'))).rejects.toMatchObject({
    code: 'terminal_failed',
    message: expect.stringContaining(stage.socket)
  });
  expect(await terminal.panes([])).toEqual([]);
});

testTmux(
  "the user's panes keep id, title, order, size order, focus and mode",
  async () => {
    const { tmux } = stage;
    tmux('split-window', '-h', '-l', '40', '-t', '%0', 'exec cat');
    tmux('split-window', '-v', '-l', '9', '-t', '%1', 'exec cat');
    tmux('split-window', '-v', '-l', '12', '-t', '%0', 'exec cat');
    for (const { id } of stage.panes())
      tmux('select-pane', '-t', id, '-T', `mine ${id}`);
    tmux('select-pane', '-t', '%1');
    tmux('copy-mode', '-t', '%2');
    await stage.attach('main', 120, 36);
    const before = stage.panes();
    const terminal = stage.terminal();
    for (let n = 1; n <= 6; n += 1) {
      await terminal.open(request(stage, `a${n}`));
      const now = stage.panes();
      expect(now.slice(0, 4).map(names)).toEqual(before.map(names));
      expect(now.slice(4).map(({ agent }) => agent)).toEqual(
        Array.from({ length: n }, (_, index) => `a${index + 1}`)
      );
      expect(outOfOrder(before, now)).toEqual([]);
      expect(state(stage, '#{pane_active}')).toBe('%1');
      expect(state(stage, '#{pane_in_mode}')).toBe('%2');
    }
  }
);

testTmux('a zoomed pane stays zoomed, and keeps its size', async () => {
  const { tmux } = stage;
  tmux('split-window', '-h', '-t', '%0', 'exec cat');
  tmux('resize-pane', '-Z', '-t', '%0');
  const terminal = stage.terminal();
  const first = await terminal.open(request(stage, 'a1'));
  await terminal.open(request(stage, 'a2'));
  const facts = '#{window_zoomed_flag} #{pane_id} #{pane_width}x#{pane_height}';
  const zoomed = () => tmux('display-message', '-p', '-t', '%0', facts);
  expect(zoomed()).toBe('1 %0 120x36');
  expect(state(stage, '#{pane_active}')).toBe('%0');
  await terminal.close(first);
  expect(zoomed()).toBe('1 %0 120x36');
});

testTmux('a title is shown unchanged, and nothing in it runs', async () => {
  const proof = join(stage.path, 'proof');
  const title = `#{pid} #(touch ${proof}) ##x \\; ;`;
  const ref = await stage
    .terminal()
    .open({ agentId: 'a1', title, cwd: stage.path });
  const shown = stage.panes().find(({ id }) => id === ref.paneId);
  expect(shown?.title).toBe(title);
  expect(existsSync(proof)).toBe(false);
});

testTmux('a pane without a program closes by itself', async () => {
  stage.tmux('set-option', '-g', 'remain-on-exit', 'on');
  const ref = await open(stage, 'a1');
  const pid = stage.tmux('display-message', '-pt', ref.paneId, '#{pane_pid}');
  process.kill(Number(pid));
  await until('the pane to go', () => stage.panes().length === 1 || undefined);
});

testTmux('an id of several words is returned unchanged', async () => {
  const agentId = 'ä b#{pid};';
  await stage.terminal().open({ ...request(stage, ''), agentId });
  const [pane] = await stage.terminal().panes([]);
  expect(pane).toMatchObject({ agentId, isHere: true, isDead: false });
});

function request({ path: cwd }: TmuxStage, agentId: string) {
  return { agentId, title: agentId, cwd };
}

function open(stage: TmuxStage, agentId: string) {
  return stage.terminal().open(request(stage, agentId));
}

function names({ id, title, window }: ShownPane) {
  return { id, title, window };
}

/** The pane with this flag. */
function state(stage: TmuxStage, flag: string): string {
  const lines = stage.tmux('list-panes', '-aF', `${flag} #{pane_id}`);
  return lines
    .split('\n')
    .filter((line) => line.startsWith('1 '))
    .map((line) => line.slice(2))
    .join(' ');
}

/** Pairs of panes whose order of size has changed. */
function outOfOrder(before: ShownPane[], after: ShownPane[]): string[] {
  const area = (panes: ShownPane[], id: string) =>
    panes
      .filter((pane) => pane.id === id)
      .reduce((sum, { width, height }) => sum + width * height, 0);
  return before.flatMap(({ id: one }) =>
    before
      .filter(({ id: other }) => area(before, one) > area(before, other))
      .filter(({ id: other }) => area(after, one) < area(after, other))
      .map(({ id: other }) => `${one} ${other}`)
  );
}
