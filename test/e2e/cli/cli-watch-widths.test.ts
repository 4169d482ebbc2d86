import { readFileSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect } from 'vitest';
import { widthOf } from '../../../src/cli/output/text.ts';
import { type ActorStage, actorStage } from '../../kit/agents/actors.ts';
import { until } from '../../kit/judges/until.ts';
import { openScreen, type Screen } from '../../kit/servers/screen.ts';
import { testTmux } from '../../kit/workspaces/tmux-stage.ts';

let stage: ActorStage;
let screen: Screen | undefined;

beforeEach(async () => {
  stage = await actorStage({ maxConcurrent: 20 });
});

afterEach(async () => {
  screen?.close();
  await stage.close();
});

const model = 'a-vendor/a-model-with-a-long-name-2026-11-22-preview';

/** A column that is there at this width, and not at the one before. */
const widths = [
  [60, 'TIME'],
  [80, 'COST'],
  [120, 'MODEL']
] as const;

testTmux(
  'task, activity and client are readable at 60, 80 and 120 columns',
  async () => {
    const agents = [
      ['パーサーのテストが失敗する理由を調べて直す', '読む src/解析.ts ✅ 🎉'],
      ['🎉 write the ✅ release notes', 'Reading CHANGELOG.md'],
      ['find out why the parser is slow', `npm test ${'x'.repeat(200)}`]
    ] as const;
    const expected = [];
    for (const [task, progress] of agents) {
      const id = await stage.start(task, { model });
      stage.act(task, { progress, costUsd: 0.25 });
      const begins = task.slice(0, 10);
      expected.push(
        new RegExp(
          `^[> ] ${id}  running .*${begins}.*\\n {12}troupe-test · ${progress.slice(0, 12)}`,
          'm'
        )
      );
    }
    screen = openScreen(stage, 40, 24);
    screen.run('troupe watch');
    for (const [columns, column] of widths) {
      expect(screen.text()).not.toContain(column);
      screen.resize(columns, 24);
      const seen = await screen.shows(column, ...expected);
      const lines = seen.split('\n');
      expect(lines).toHaveLength(24);
      for (const line of lines) expect(widthOf(line)).toBeLessThan(columns);
      expect(lines[1]).toMatch(/TASK$/);
      expect(lines.at(-1)).toMatch(/\? help {2}q quit$/);
      expect(lines.at(-3)).toMatch(/^Actor [0-9a-f]{8}, from troupe-test/);
    }
  }
);

testTmux('an agent that is silent says so, and for how long', async () => {
  const id = await stage.start('one');
  stage.act('one', { progress: 'Thinking' });
  await until('its output', () => textOf(id, 'stdout') !== '');
  const then = new Date(Date.now() - 40_000);
  for (const [name, time] of [
    ['stdout', then],
    ['stderr', then]
  ] as const)
    utimesSync(join(stage.record, 'spawns', id, name), time, time);
  setCreated(id, then);
  screen = openScreen(stage, 80, 24);
  screen.run('troupe watch');
  await screen.shows(/^ {12}quiet 4\ds · troupe-test · Thinking$/m);
  stage.act('one', { progress: 'Reading' });
  await screen.shows(/^ {12}troupe-test · Reading$/m);
});

function textOf(id: string, name: string): string {
  return readFileSync(join(stage.record, 'spawns', id, name), 'utf8');
}

function setCreated(id: string, at: Date): void {
  const record: unknown = JSON.parse(textOf(id, 'record.json'));
  writeFileSync(
    join(stage.record, 'spawns', id, 'record.json'),
    JSON.stringify({ ...Object(record), created_at: at.toISOString() })
  );
}
