import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type GoldenCase, goldenCases } from '../../golden/golden-cases.ts';
import { expectGolden, leftOver } from '../../golden/golden-files.ts';
import {
  type GoldenStage,
  goldenEnvironment,
  goldenStage
} from '../../golden/golden-stage.ts';
import { steady } from '../../golden/golden-steady.ts';
import { goldenTerminal } from '../../golden/golden-terminal.ts';
import { packageRoot } from '../../kit/judges/documents.ts';
import { until } from '../../kit/judges/until.ts';
import { runCommand } from '../../kit/servers/command-line.ts';
import { testTmux } from '../../kit/workspaces/tmux-stage.ts';

let stage: GoldenStage;
const terminal = goldenTerminal();
const troupe = join(packageRoot, 'dist', 'troupe.cjs');

beforeAll(async () => {
  stage = await goldenStage({ running: true });
});

afterAll(async () => {
  terminal.close();
  await stage.stop();
});

const look = (name: string, ...args: string[]): GoldenCase => ({
  name,
  args,
  stage: () => stage
});

goldenCases('wait', [
  look('wait-ended', 'wait', 'a0000002', 'b0000007'),
  look('wait-any', 'wait', '--any', 'a0000002')
]);

/** What ended today depends on the time of day. */
const withoutToday = (text: string) =>
  text.replace(/today \(UTC\) [^\n{]*/, 'today (UTC) …');

testTmux(
  'the screen of troupe watch is what golden/watch/screen says',
  async () => {
    const { workspace, ids } = stage;
    const shown = await Promise.all(
      [
        { columns: 60, rows: 24 },
        { columns: 80, rows: 24 },
        { columns: 120, rows: 40 }
      ].map(async (size) => {
        const words = [process.execPath, troupe, 'watch'];
        const env = goldenEnvironment(workspace);
        const command = { words, cwd: workspace.path, env };
        const screen = await terminal.start(command, size);
        const seen = await until('all of the screen', async () => {
          const text = await screen.shown();
          return /a0000001(.|\n)*q quit/.test(text) ? text : undefined;
        });
        await screen.press('q');
        expect(await screen.ended()).toMatchObject({ code: 0 });
        const title = `== ${size.columns} columns, ${size.rows} lines`;
        return `${title}\n${withoutToday(steady(seen, ids))}`;
      })
    );
    expectGolden('watch/screen', shown.join('\n'));
  }
);

test('watch in a pipe prints what golden/watch/pipe says', async () => {
  const { workspace, ids } = stage;
  const env = goldenEnvironment(workspace);
  const shown = [];
  for (const flags of [[], ['--json']]) {
    const args = ['watch', ...flags];
    const { code, stdout, stderr } = await runCommand(workspace, args, { env });
    const said = stderr === '' ? '' : `-- stderr\n${withoutToday(stderr)}`;
    const text = stdout.replace(/"today": \{[^}]*\}/, '"today": {}');
    shown.push(
      `$ troupe ${args.join(' ')}\nexit code ${code}\n${steady(`${text}${said}`, ids)}`
    );
  }
  expectGolden('watch/pipe', shown.join('\n'));
});

test('golden/watch has no file that is left over', () => {
  expect(leftOver('watch', ['screen', 'pipe'])).toEqual([]);
});
