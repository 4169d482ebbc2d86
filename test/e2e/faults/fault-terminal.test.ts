import { existsSync, readdirSync, rmSync, symlinkSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterEach, describe, expect } from 'vitest';
import { locate } from '../../../src/adapters/child-process/locate.ts';
import { until } from '../../kit/judges/until.ts';
import {
  answerOf,
  createdWorker,
  enqueued,
  refusalOf,
  taskEnd,
  workerIs,
  workersSeen
} from '../../kit/servers/orchestrator-calls.ts';
import {
  createOrchestratorStage,
  type OrchestratorStage
} from '../../kit/servers/orchestrator-stage.ts';
import { testTmux } from '../../kit/workspaces/tmux-stage.ts';

let stage: OrchestratorStage;

afterEach(() => stage.close());

function begin(): void {
  const settings = { restart: 'never' };
  stage = createOrchestratorStage('tmux', { settings });
}

describe('workers in panes', () => {
  testTmux('have crashed when the tmux server was killed', async () => {
    begin();
    const master = await stage.serve();
    const { agent_id: id } = await createdWorker(master);
    const pid = Number(stage.screen().tmux('display-message', '-p', '#{pid}'));
    process.kill(pid, 'SIGKILL');
    await workerIs(master, id, 'crashed');
    await until('its end', () => stage.processes(id).length === 0);
    const args = { name: 'next', role: 'x' };
    const { error_code } = await refusalOf(master, 'agent_create', args);
    expect(error_code).toBe('terminal_failed');
    await answerOf(master, 'agent_delete', { agent_id: id, force: true });
  });

  testTmux('have crashed when their window was closed by hand', async () => {
    begin();
    const master = await stage.serve();
    const { agent_id: id, tmux_pane_id: pane } = await createdWorker(master);
    const { tmux } = stage.screen();
    tmux('new-window', '-d', 'exec cat');
    tmux('kill-window', '-t', String(pane));
    await workerIs(master, id, 'crashed');
    await until('its end', () => stage.processes(id).length === 0);
  });

  testTmux(
    'go on when the program tmux is gone, and others are refused',
    async () => {
      begin();
      linkPrograms(stage.bin);
      const master = await stage.serve({ env: { PATH: stage.bin } });
      const { agent_id: id } = await createdWorker(master);
      rmSync(join(stage.bin, 'tmux'));
      const args = { name: 'next', role: 'x' };
      const { error_code } = await refusalOf(master, 'agent_create', args);
      expect(error_code).toMatch(/no_terminal|terminal_failed/);
      await enqueued(master, id, 'one');
      await taskEnd(master, id, 'one');
      expect((await workersSeen(master)).map(({ status }) => status)).toEqual([
        'ready'
      ]);
      symlinkSync(locate('tmux') ?? '', join(stage.bin, 'tmux'));
    }
  );
});

/** Links to everything next to tmux, so that only tmux is missing. */
function linkPrograms(bin: string): void {
  const beside = dirname(locate('tmux') ?? '');
  symlinkSync(process.execPath, join(bin, 'node'));
  for (const name of readdirSync(beside))
    if (!existsSync(join(bin, name)))
      symlinkSync(join(beside, name), join(bin, name));
}
