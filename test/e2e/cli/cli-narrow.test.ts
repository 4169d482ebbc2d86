import { afterAll, beforeAll, expect } from 'vitest';
import { widthOf } from '../../../src/cli/output/text.ts';
import {
  type GoldenStage,
  goldenEnvironment,
  goldenStage
} from '../../golden/golden-stage.ts';
import { goldenTerminal } from '../../golden/golden-terminal.ts';
import { packageRoot } from '../../kit/judges/documents.ts';
import { testTmux } from '../../kit/workspaces/tmux-stage.ts';

const terminal = goldenTerminal();
let stage: GoldenStage;

beforeAll(async () => {
  stage = await goldenStage({ running: true });
});

afterAll(async () => {
  terminal.close();
  await stage.stop();
});

/** Lines of a command on a terminal of some width, without colours. */
async function linesOf(args: string[], columns: number): Promise<string[]> {
  const { workspace } = stage;
  const screen = await terminal.start(
    {
      words: [process.execPath, `${packageRoot}/dist/troupe.cjs`, ...args],
      cwd: workspace.path,
      env: goldenEnvironment(workspace, { NO_COLOR: '1' })
    },
    { columns }
  );
  const { shown } = await screen.ended();
  return shown.trimEnd().split('\n');
}

for (const command of ['list', 'log', 'engines', 'roles', 'config'])
  testTmux(
    `the table of ${command} fits 60 columns, and no line is wrapped`,
    async () => {
      const [wide, narrow] = await Promise.all([
        linesOf([command], 200),
        linesOf([command], 60)
      ]);
      expect(narrow.length).toBe(wide.length);
      for (const line of narrow) expect(widthOf(line)).toBeLessThanOrEqual(60);
      // The first column says what a line is about: it is whole.
      const first = (lines: string[]) =>
        lines.map((line) => line.split(/ {2,}/)[0] ?? '');
      if (command !== 'config') expect(first(narrow)).toEqual(first(wide));
    }
  );
