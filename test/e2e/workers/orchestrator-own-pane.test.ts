import { join } from 'node:path';
import { afterEach, describe, expect } from 'vitest';
import {
  createdWorker,
  refusalOf,
  workersSeen
} from '../../kit/servers/orchestrator-calls.ts';
import {
  createOrchestratorStage,
  type OrchestratorStage
} from '../../kit/servers/orchestrator-stage.ts';
import { testTmux } from '../../kit/workspaces/tmux-stage.ts';

let stage: OrchestratorStage;

afterEach(() => stage?.close());

/** Runs the server in a pane without its number, and sends its requests. */
const inPane = `
pipes=$1 socket=$2
shift 2
mkfifo "$pipes.in" "$pipes.out"
env -u TMUX tmux -S "$socket" new-window -d -n serverwin -c "$PWD" \\
  -e HOME="$HOME" -e PATH="$PATH" \\
  sh -c 'env -u TMUX_PANE "$@" <"$0.in" >"$0.out"; :' "$pipes" "$@"
cat "$pipes.out" &
cat >"$pipes.in"
wait`;

describe('a master without a pane of its own', () => {
  testTmux('finds the one it runs in', async () => {
    stage = createOrchestratorStage('tmux', { size: [160, 48] });
    const { tmux, socket } = stage.screen();
    const pipes = join(stage.home, 'pipes');
    const master = await stage.serve({
      under: ['sh', '-c', inPane, 'in-pane', pipes, socket]
    });
    tmux('new-window', '-n', 'looking', 'exec cat');
    const { tmux_pane_id } = await createdWorker(master);
    const target = ['-t', String(tmux_pane_id), '#{window_name}'];
    expect(tmux('display-message', '-p', ...target)).toBe('serverwin');
  });

  testTmux('opens nothing where somebody else looks', async () => {
    stage = createOrchestratorStage('tmux');
    const { tmux, panes } = stage.screen();
    tmux('new-window', '-n', 'looking', 'exec cat');
    for (const TMUX_PANE of ['', '%999', 'rubbish']) {
      const master = await stage.serve({ env: { TMUX_PANE } });
      const args = { name: 'n', role: 'r' };
      const refusal = await refusalOf(master, 'agent_create', args);
      expect(refusal.error_code).toBe('terminal_failed');
      expect(refusal.error).toContain('TMUX_PANE');
      expect(refusal.hint).toContain('TMUX_PANE');
      expect(await workersSeen(master, 'all')).toEqual([]);
    }
    expect(panes()).toHaveLength(2);
  });
});
