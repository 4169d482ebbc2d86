import { afterEach, beforeEach, expect } from 'vitest';
import { runCommand } from '../../kit/servers/command-line.ts';
import {
  createOrchestratorStage,
  type OrchestratorStage
} from '../../kit/servers/orchestrator-stage.ts';
import { openScreen, type Screen } from '../../kit/servers/screen.ts';
import { testTmux } from '../../kit/workspaces/tmux-stage.ts';

let stage: OrchestratorStage;
let screen: Screen;

beforeEach(() => {
  stage = createOrchestratorStage('process');
  screen = openScreen(stage, 100, 24);
});

afterEach(async () => {
  screen.close();
  await stage.close();
});

testTmux('watch shows workers, their tasks and what they did', async () => {
  const master = await stage.serve();
  const { id, desk } = await stage.puppet(master);
  for (const command of ['result', 'wait', 'cancel', 'clean']) {
    const { code, stderr } = await runCommand(stage, [command, id]);
    expect({ command, code }).toEqual({ command, code: 1 });
    expect(stderr).toMatch(/^troupe: .* is a worker \(puppet 1\), .*watch/);
  }
  screen.run('troupe watch');
  await screen.shows(
    '0 running, 1 worker',
    new RegExp(
      `^> ${id}  ready +puppet .*worker puppet 1 \\(.*\\n +no task$`,
      'm'
    )
  );
  screen.press('c');
  await screen.shows('Worker puppet 1 has no task to cancel');
  for (const task_id of ['t1', 't2'])
    await master.call('task_enqueue', {
      agent_id: id,
      task: { task_id, payload: 'dig' }
    });
  await desk.call('wait_for_command', { timeout_ms: 10_000 });
  await screen.shows(
    new RegExp(
      `^> ${id}  busy .*worker puppet 1 \\(.*\\n +at task t1, 1 in its queue$`,
      'm'
    )
  );
  screen.press('Enter');
  await screen.shows('worker puppet 1', 't1 (running)', /\(delivered\) {2}t1/);
  await desk.call('emit_event', { type: 'progress', payload: 'half a hole' });
  await screen.shows(/progress {2}t1 {2}.*half a hole/);
  screen.press('c');
  await screen.shows('Cancel task t1 of worker puppet 1? y/n');
  screen.press('y');
  await screen.shows('Worker puppet 1 was asked to give up task t1.');
  const inbox = stage.lines(stage.file(id, 'inbox.jsonl'));
  expect(inbox.at(-1)).toMatchObject({ type: 'cancel', task_id: 't1' });
  screen.press('q');
});
