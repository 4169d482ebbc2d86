import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect } from 'vitest';
import { until } from '../../kit/judges/until.ts';
import {
  answerOf,
  createdWorker,
  workerIs,
  workersSeen
} from '../../kit/servers/orchestrator-calls.ts';
import {
  createOrchestratorStage,
  type OrchestratorStage
} from '../../kit/servers/orchestrator-stage.ts';
import { testTmux } from '../../kit/workspaces/tmux-stage.ts';

let stage: OrchestratorStage;
let others: OrchestratorStage[];
/** Of the tmux that is the default one here. */
let directory: string;
/** Of a server outside of any tmux. */
let outside: { env: Record<string, string> };

beforeEach(() => {
  stage = createOrchestratorStage('tmux');
  others = [];
  // It is there longer than the workspace, so that its server can be ended.
  directory = mkdtempSync(join(tmpdir(), 'troupe-tmux-'));
  outside = { env: { TMUX: '', TMUX_PANE: '', TMUX_TMPDIR: directory } };
});

afterEach(async () => {
  await Promise.all(others.map((other) => other.close()));
  try {
    await stage.close();
  } finally {
    if (isUp()) tmux('kill-server');
    rmSync(directory, { recursive: true });
  }
});

describe('a master outside of tmux', () => {
  testTmux('makes one session, and another master uses it, too', async () => {
    const [one, two] = [await stage.serve(outside), await stage.serve(outside)];
    const made = await Promise.all(
      [one, two, one, two].map((master) => createdWorker(master))
    );
    const sessions = tmux('list-sessions', '-F', '#{session_name}');
    expect(sessions).toMatch(/^troupe-[0-9a-f]{6}$/);
    const panes = tmux('list-panes', '-aF', '#{pane_id} #{@troupe_agent}');
    expect(panes.split('\n').toSorted()).toEqual(
      made
        .map(({ tmux_pane_id, agent_id }) => `${tmux_pane_id} ${agent_id}`)
        .toSorted()
    );
    expect(new Set(made.map(({ run_id }) => run_id)).size).toBe(1);
    for (const master of [one, two])
      expect(await workersSeen(master, 'current_window')).toHaveLength(4);
    // The last pane takes the session along.
    for (const [index, { agent_id }] of made.entries())
      await answerOf(index % 2 ? one : two, 'agent_delete', { agent_id });
    await until('the session to go', () => !isUp() || undefined);
    expect(stage.processes('')).toEqual([]);
  });

  testTmux('leaves sessions of others alone', async () => {
    tmux('new-session', '-d', '-s', 'mine', '-x', '100', '-y', '30', 'cat');
    tmux('new-session', '-d', '-s', 'troupe', '-x', '80', '-y', '24', 'cat');
    const foreign = () =>
      tmux('list-panes', '-aF', foreignFormat)
        .split('\n')
        .filter((line) => !/^troupe-/.test(line));
    const before = foreign();
    const master = await stage.serve(outside);
    const { agent_id } = await createdWorker(master);
    await createdWorker(master);
    expect(foreign()).toEqual(before);
    await answerOf(master, 'agent_delete', { agent_id });
    expect(foreign()).toEqual(before);
  });

  testTmux('shares no session with another workspace', async () => {
    const other = createOrchestratorStage('tmux');
    others.push(other);
    const [ours, theirs] = await Promise.all([
      stage.serve(outside),
      other.serve(outside)
    ]);
    const [mine, yours] = await Promise.all([
      createdWorker(ours),
      createdWorker(theirs)
    ]);
    const lines = tmux('list-panes', '-aF', '#{session_name} #{@troupe_agent}')
      .split('\n')
      .map((line) => line.split(' '));
    const sessions = lines.map(([session]) => session);
    expect(new Set(sessions).size).toBe(2);
    expect(lines.map(([, agent]) => agent).toSorted()).toEqual(
      [mine.agent_id, yours.agent_id].toSorted()
    );
    expect(await workersSeen(ours, 'all')).toHaveLength(1);
  });

  testTmux('finds its workers again in another terminal', async () => {
    const first = await stage.serve(outside);
    const { agent_id, tmux_pane_id } = await createdWorker(first);
    await stage.kill(first);
    // In the user's own tmux, which is another server.
    const { TMUX_TMPDIR = '' } = outside.env;
    const second = await stage.serve({ env: { TMUX_TMPDIR } });
    const [seen] = await workersSeen(second);
    expect(seen).toMatchObject({ agent_id, tmux_pane_id, status: 'ready' });
    expect(await workersSeen(second, 'current_window')).toEqual([]);
    await answerOf(second, 'agent_delete', { agent_id });
    await workerIs(second, agent_id, 'stopped');
    await until('its pane to close', () => !isUp() || undefined);
  });
});

const foreignFormat =
  '#{session_name} #{session_created} #{window_layout} #{pane_id} #{pane_title}';

/** On the default server outside of tmux. */
function tmux(...args: string[]): string {
  return execFileSync('tmux', ['-f', '/dev/null', ...args], {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, ...outside.env }
  }).trim();
}

function isUp(): boolean {
  try {
    return tmux('list-sessions') !== '';
  } catch {
    return false;
  }
}
