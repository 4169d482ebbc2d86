import { afterEach, beforeEach, expect } from 'vitest';
import { until } from '../../kit/judges/until.ts';
import { runCommand, startCommand } from '../../kit/servers/command-line.ts';
import { openScreen, type Screen } from '../../kit/servers/screen.ts';
import {
  createTempWorkspace,
  type TempWorkspace
} from '../../kit/workspaces/temp-workspace.ts';
import { testTmux } from '../../kit/workspaces/tmux-stage.ts';

let workspace: TempWorkspace;
let screen: Screen | undefined;

beforeEach(() => {
  workspace = createTempWorkspace();
  const settings = {
    engines: { rehearsal: true },
    onEnd: { bell: true, osc: 9 }
  };
  workspace.write('troupe.config.json', JSON.stringify(settings));
});

afterEach(() => {
  screen?.close();
  workspace.remove();
});

const alert =
  /\u001b\]9;troupe: rehearsal [0-9a-f]{8} completed after [^\u001b]+\u001b\\\u0007/g;

testTmux('run and watch alert the terminal once at an end', async () => {
  screen = openScreen(workspace);
  const recorded = screen.record();
  const alerts = () => recorded().match(alert)?.length;
  screen.run('troupe run rehearsal "say \u0007hello"');
  await until('the alert of run', () => alerts() === 1);
  await screen.shows(/Rehearsal \w+ completed/);
  screen.run('troupe watch');
  await screen.shows('q quit');
  await runCommand(workspace, ['run', 'rehearsal', 'say hello']);
  await until('the alert of watch', () => alerts() === 2);
});

testTmux('wait alerts the terminal, and a pipe gets no alert', async () => {
  screen = openScreen(workspace);
  const piped = startCommand(workspace, ['run', 'rehearsal', 'sleep 8']);
  const [, id = ''] = await piped.says('stderr', /Rehearsal.* ([0-9a-f]{8}),/);
  const recorded = screen.record();
  screen.run(`troupe wait ${id}`);
  await until('the alert', () => recorded().match(alert)?.length === 1);
  const { stdout, stderr } = await piped.exited;
  expect(`${stdout}${stderr}`).not.toContain('\u001b]');
});
