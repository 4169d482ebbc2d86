import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { type ActorStage, actorStage } from '../../kit/agents/actors.ts';
import { idOf, makeUp } from '../../kit/agents/made-up-agents.ts';
import { runCommand } from '../../kit/servers/command-line.ts';

let stage: ActorStage;

beforeEach(async () => {
  stage = await actorStage();
});

afterEach(() => stage.close());

test('watch in a pipe prints one table and ends', async () => {
  const empty = await runCommand(stage, ['watch']);
  expect(empty).toMatchObject({ code: 0, stdout: '' });
  expect(empty.stderr).toContain('no agents in this workspace yet');
  const id = await stage.start('one');
  const { code, stdout, stderr } = await runCommand(stage, ['watch']);
  expect(code).toBe(0);
  expect(stdout).toMatch(
    /^ID +STATE +ENGINE +MODEL +TIME +COST +LINES +ENDED +FROM +SQUAD +TASK +DOING\n/
  );
  expect(stdout).toMatch(
    new RegExp(`\n${id}  running  actor .*  troupe-test +- +one +-\n$`)
  );
  expect(stderr).toBe(
    'troupe: 1 running; today (UTC) none ended\n' +
      'troupe: on a terminal, troupe watch shows this live\n'
  );
  expect(`${stdout}${stderr}`).not.toContain('\u001b');
});

test('where none are to be shown, it is not said that there were none', async () => {
  const id = await stage.start('one');
  stage.act('one', { text: 'fine', done: true });
  await runCommand(stage, ['wait', id]);
  for (const command of ['watch', 'list']) {
    const { stdout, stderr } = await runCommand(stage, [
      ...[command, '--limit', '0']
    ]);
    expect(stdout).toBe('');
    expect(stderr).not.toContain('no agents in this workspace');
  }
});

test('watch --json prints one document', async () => {
  const one = await stage.start('one');
  await stage.start('two');
  stage.act('one', { text: 'fine', costUsd: 0.25, done: true });
  await runCommand(stage, ['wait', one]);
  const { code, stdout } = await runCommand(stage, ['watch', '--json']);
  expect(code).toBe(0);
  const shared = { agent_type: 'actor', model: 'default' };
  expect(JSON.parse(stdout)).toEqual({
    today: {
      day: expect.stringMatching(/^\d{4}-\d\d-\d\d$/),
      ended: 1,
      not_completed: 0,
      cost_usd: 0.25,
      costs_unknown: 0
    },
    agents: [
      {
        ...shared,
        agent_id: expect.any(String),
        status: 'running',
        task: 'two',
        doing: 'two',
        created_at: expect.any(String),
        completed_at: null,
        seconds: expect.any(Number),
        cost_usd: null,
        lines_added: null,
        lines_removed: null,
        client: 'troupe-test',
        squad: null,
        quiet_seconds: expect.any(Number)
      },
      {
        ...shared,
        agent_id: one,
        status: 'completed',
        task: 'one',
        doing: 'one',
        created_at: expect.any(String),
        completed_at: expect.any(String),
        seconds: expect.any(Number),
        cost_usd: 0.25,
        lines_added: null,
        lines_removed: null,
        client: 'troupe-test',
        squad: null,
        quiet_seconds: null
      }
    ],
    workers: []
  });
});

test('a record that came with a project steers no terminal', async () => {
  const hostile = 'x\u001b]0;title\u0007\u009b2J';
  const words = { engine: hostile, label: hostile, model: hostile };
  const id = idOf(1);
  const folder = makeUp(stage.record, {
    ...{ agent_id: id, daysAgo: 1, isOpen: true, task: hostile, ...words },
    outcome: { status: 'failed', error: hostile, error_code: null }
  });
  const file = join(folder, 'outcome.json');
  const outcome = readFileSync(file, 'utf8');
  writeFileSync(file, outcome.replace('"failed"', JSON.stringify(hostile)));
  for (const args of [['list'], ['watch'], ['wait', id], ['result', id]]) {
    const { stdout, stderr } = await runCommand(stage, args);
    expect(stderr).not.toContain('is not a function');
    expect(`${stdout}${stderr}`).not.toMatch(/[\u0007\u001b\u009b]/);
  }
});
