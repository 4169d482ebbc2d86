import { afterEach, expect } from 'vitest';
import {
  type TmuxStage,
  testTmux,
  tmuxStage
} from '../../../test/kit/workspaces/tmux-stage.ts';

let stage: TmuxStage;

afterEach(() => stage.stop());

testTmux('twelve agents fit next to a pane of the user', async () => {
  stage = tmuxStage(120, 36);
  await stage.openMany(stage.terminal(), 12);
  const panes = stage.panes();
  expect(panes).toHaveLength(13);
  for (const { width, height } of panes) {
    expect(width).toBeGreaterThanOrEqual(20);
    expect(height).toBeGreaterThanOrEqual(5);
  }
});

testTmux('eleven agents fit in the smallest terminal', async () => {
  stage = tmuxStage(80, 24);
  const terminal = stage.terminal();
  await stage.openMany(terminal, 11);
  for (const { width, height } of stage.panes()) {
    expect(width).toBeGreaterThanOrEqual(20);
    expect(height).toBeGreaterThanOrEqual(5);
  }
  await expectFull('80x24 and has 12 panes');
});

testTmux('one agent too many is an error and changes nothing', async () => {
  stage = tmuxStage(62, 17);
  await stage.openMany(stage.terminal(), 8);
  await expectFull('62x17 and has 9 panes');
});

testTmux('a window can be too small for any agent', async () => {
  stage = tmuxStage(30, 8);
  await expectFull('30x8 and has 1 pane:');
});

testTmux('the room of a closed pane is used again', async () => {
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

testTmux('the user gets all the room after the last agent', async () => {
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

testTmux('a size that the user changes meanwhile is kept', async () => {
  stage = tmuxStage();
  stage.tmux('split-window', '-v', '-l', '17', '-t', '%0', 'exec cat');
  const terminal = stage.terminal();
  const refs = await stage.openMany(terminal, 2);
  stage.tmux('resize-pane', '-t', '%0', '-y', '28');
  for (const ref of refs) await terminal.close(ref);
  expect(stage.panes().map(({ height }) => height)).toEqual([28, 7]);
});

testTmux('many concurrent requests all get a pane', async () => {
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

testTmux(
  'a pane that the user opens among the agents remains the user’s',
  async () => {
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
  }
);

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
