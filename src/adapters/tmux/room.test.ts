import { afterEach, expect } from 'vitest';
import {
  type TmuxStage,
  testTmux,
  tmuxStage
} from '../../testing/tmux-stage.ts';

let stage: TmuxStage;

afterEach(() => stage.stop());

testTmux('twelve agents fit beside a pane of the user', async () => {
  stage = tmuxStage(120, 36);
  await stage.openMany(stage.terminal(), 12);
  const panes = stage.panes();
  expect(panes).toHaveLength(13);
  for (const { width, height } of panes) {
    expect(width).toBeGreaterThanOrEqual(20);
    expect(height).toBeGreaterThanOrEqual(5);
  }
});

testTmux('in the smallest terminal there is room for eleven', async () => {
  stage = tmuxStage(80, 24);
  const terminal = stage.terminal();
  await stage.openMany(terminal, 11);
  for (const { width, height } of stage.panes()) {
    expect(width).toBeGreaterThanOrEqual(20);
    expect(height).toBeGreaterThanOrEqual(5);
  }
  await expectFull('80x24 and has 12 panes');
});

testTmux('one too many is an error, and nothing has changed', async () => {
  stage = tmuxStage(62, 17);
  await stage.openMany(stage.terminal(), 8);
  await expectFull('62x17 and has 9 panes');
});

testTmux('a window may be too small for any', async () => {
  stage = tmuxStage(30, 8);
  await expectFull('30x8 and has 1 pane:');
});

testTmux('room that was given back is used again', async () => {
  stage = tmuxStage(62, 17);
  const terminal = stage.terminal();
  const refs = await stage.openMany(terminal, 8);
  const [first] = refs;
  if (!first) throw new Error('None opened.');
  await terminal.close(first);
  await terminal.open({ agentId: 'b', title: 'b', cwd: stage.path });
  expect(stage.panes().map(({ agent }) => agent)).toEqual([
    ...['', 'a2', 'a3', 'a4', 'a5', 'a6', 'a7', 'a8', 'b']
  ]);
});

testTmux('after the last agent the user has all the room again', async () => {
  stage = tmuxStage();
  const { tmux } = stage;
  tmux('split-window', '-h', '-l', '40', '-t', '%0', 'exec cat');
  tmux('split-window', '-v', '-l', '12', '-t', '%1', 'exec cat');
  const sizes = () =>
    stage.panes().map(({ id, width, height }) => [id, width, height]);
  const terminal = stage.terminal();
  const before = sizes();
  for (const ref of await stage.openMany(terminal, 5))
    await terminal.close(ref);
  expect(sizes()).toEqual(before);
});

testTmux('what the user resizes in the meantime is kept so', async () => {
  stage = tmuxStage();
  stage.tmux('split-window', '-v', '-l', '17', '-t', '%0', 'exec cat');
  const terminal = stage.terminal();
  const refs = await stage.openMany(terminal, 2);
  stage.tmux('resize-pane', '-t', '%0', '-y', '28');
  for (const ref of refs) await terminal.close(ref);
  expect(stage.panes().map(({ height }) => height)).toEqual([28, 7]);
});

testTmux('many who open at once all get a pane', async () => {
  stage = tmuxStage(220, 50);
  const terminals = [stage.terminal(), stage.terminal(), stage.terminal()];
  const refs = await Promise.all(
    terminals.flatMap((terminal, one) =>
      ['x', 'y', 'z'].map((name) =>
        terminal.open({ agentId: `${name}${one}`, title: 't', cwd: stage.path })
      )
    )
  );
  expect(new Set(refs.map(({ paneId }) => paneId)).size).toBe(9);
  const panes = stage.panes();
  expect(panes).toHaveLength(10);
  for (const { agentId, paneId } of refs)
    expect(panes.find(({ id }) => id === paneId)?.agent).toBe(agentId);
  for (const { width, height } of panes) {
    expect(width).toBeGreaterThanOrEqual(20);
    expect(height).toBeGreaterThanOrEqual(5);
  }
});

testTmux("a pane that the user opens among them stays the user's", async () => {
  stage = tmuxStage();
  const terminal = stage.terminal();
  const [first] = await stage.openMany(terminal, 2);
  if (!first) throw new Error('None opened.');
  stage.tmux('split-window', '-v', '-t', first.paneId, 'exec cat');
  await terminal.open({ agentId: 'b', title: 'b', cwd: stage.path });
  const agents = stage.panes().map(({ agent }) => agent);
  expect(agents).toEqual(['', 'a1', '', 'a2', 'b']);
  for (const ref of await terminal.panes([])) await terminal.close(ref);
  expect(stage.panes().map(({ id }) => id)).toEqual(['%0', '%3']);
});

async function expectFull(words: string): Promise<void> {
  const before = stage.snapshot();
  await expect(
    stage.terminal().open({ agentId: 'x', title: 'x', cwd: stage.path })
  ).rejects.toMatchObject({
    code: 'window_full',
    message: expect.stringContaining(words)
  });
  expect(stage.snapshot()).toBe(before);
}
