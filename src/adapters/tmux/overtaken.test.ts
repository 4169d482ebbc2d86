import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect } from 'vitest';
import {
  type TmuxStage,
  testTmux,
  tmuxStage
} from '../../../test/kit/workspaces/tmux-stage.ts';
import { locate } from '../child-process/locate.ts';

let stage: TmuxStage;

beforeEach(() => {
  stage = tmuxStage();
});

afterEach(() => stage.stop());

/**
 * A terminal in which the user runs a tmux command just before troupe first
 * runs the given one.
 */
function terminalWith(users: string, ours: string) {
  const bin = join(stage.path, 'bin');
  mkdirSync(bin);
  const tmux = `'${locate('tmux')}'`;
  const once = `mkdir '${join(bin, 'once')}' 2>/dev/null`;
  const before = `${once} && ${tmux} -S '${stage.socket}' ${users}`;
  writeFileSync(
    join(bin, 'tmux'),
    `#!/bin/sh\ncase "$*" in *${ours}*) ${before};; esac\nexec ${tmux} "$@"\n`,
    { mode: 0o755 }
  );
  return stage.terminal({ PATH: `${bin}:${process.env.PATH}` });
}

const heights = () => stage.panes().map(({ height }) => height);
const agents = () => stage.panes().map(({ agent }) => agent);

testTmux(
  'the space of a pane that the user closes first is shared',
  async () => {
    const [, second] = await stage.openMany(stage.terminal(), 3);
    if (!second) throw new Error('None opened.');
    const users = `kill-pane -t ${second.paneId}`;
    await terminalWith(users, 'kill-pane').close(second);
    expect(agents()).toEqual(['', 'a1', 'a3']);
    expect(heights()).toEqual([36, 18, 17]);
  }
);

testTmux('a pane closes although the user ends the server first', async () => {
  const [first] = await stage.openMany(stage.terminal(), 1);
  if (!first) throw new Error('None opened.');
  const terminal = terminalWith('kill-server', 'kill-pane');
  await terminal.close(first);
  expect(await terminal.panes([])).toEqual([]);
});

describe('while the user closes a zoomed pane', () => {
  beforeEach(() => {
    stage.tmux('split-window', '-t', '%0', 'exec cat');
    stage.tmux('resize-pane', '-Z', '-t', '%1');
  });

  testTmux('a pane opens', async () => {
    const terminal = terminalWith('kill-pane -t %1', 'select-layout');
    await stage.openMany(terminal, 1);
    expect(agents()).toEqual(['', 'a1']);
  });

  testTmux('a pane closes, and its space is shared', async () => {
    const [first] = await stage.openMany(stage.terminal(), 3);
    if (!first) throw new Error('None opened.');
    await terminalWith('kill-pane -t %1', 'kill-pane').close(first);
    expect(agents()).toEqual(['', 'a2', 'a3']);
    expect(heights()).toEqual([36, 18, 17]);
  });
});
