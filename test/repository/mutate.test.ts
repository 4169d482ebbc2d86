import { spawnSync } from 'node:child_process';
import { cpSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { drawsReport } from '../../bench/mutants-report.mjs';
import { readDraws, writeDraw } from '../../scripts/mutate/draws.mjs';
import { packageRoot } from '../kit/judges/documents.ts';
import { gitIn } from '../kit/workspaces/git-workspace.ts';
import {
  createTempWorkspace,
  type TempWorkspace
} from '../kit/workspaces/temp-workspace.ts';

let workspace: TempWorkspace;

beforeEach(() => {
  workspace = createTempWorkspace();
  workspace.write('.gitignore', 'node_modules\n');
  gitIn(workspace.path, 'init', '--quiet');
  symlinkSync(
    join(packageRoot, 'node_modules'),
    join(workspace.path, 'node_modules')
  );
  for (const name of ['scripts/mutate.mjs', 'scripts/mutate'])
    cpSync(join(packageRoot, name), join(workspace.path, name), {
      recursive: true
    });
  workspace.write(
    'vitest.config.ts',
    "export default { test: { projects: [{ test: { name: 'unit', include: ['src/*.test.ts'] } }] } };"
  );
  // One defect is noticed, the other one survives.
  workspace.write(
    'src/flags.ts',
    'export const seen = true;\nexport const unseen = true;\n'
  );
  workspace.write(
    'src/flags.test.ts',
    "import { expect, test } from 'vitest';\nimport { seen } from './flags.ts';\ntest('seen', () => expect(seen).toBe(true));\n"
  );
});

afterEach(() => workspace.remove());

/** Draws both defects of the small project. */
function mutate(...args: string[]) {
  const script = join(workspace.path, 'scripts/mutate.mjs');
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    [script, '--count', '2', '--jobs', '1', ...args],
    { encoding: 'utf8' }
  );
  return { status, stdout, stderr };
}

const survivor = 'src/flags.ts:2 true -> false';

test('a draw is added to those of a file, and fails below the score that it must reach', () => {
  const file = join(workspace.path, 'draws.json');
  const reached = mutate('--seed', '7', '--output', file, '--check', '50');
  expect(reached.stdout).toContain('1 of 2 defects were noticed (50.0 %)');
  expect(reached.status).toBe(0);
  expect(mutate('--seed', '8', '--output', file, '--check', '51').status).toBe(
    1
  );
  const facts = { planted: 2, judged: 2, score: 50, survivors: [survivor] };
  expect(readDraws(file)).toMatchObject([
    { seed: 7, ...facts },
    { seed: 8, ...facts }
  ]);
});

test('a draw takes the place of the one with its seed', () => {
  const file = join(workspace.path, 'draws.json');
  for (const [judged, seed] of [7, 8, 7].entries())
    writeDraw(file, { seed, judged });
  expect(readDraws(file)).toEqual([
    { seed: 8, judged: 1 },
    { seed: 7, judged: 2 }
  ]);
});

test('a file that holds no list of draws is refused before any test runs', () => {
  const file = join(workspace.path, 'draws.json');
  writeFileSync(file, '{}');
  const { status, stdout, stderr } = mutate('--output', file);
  expect(stderr).toContain(`${file} is no list of draws: name another file`);
  expect({ status, stdout }).toEqual({ status: 1, stdout: '' });
  expect(readFileSync(file, 'utf8')).toBe('{}');
});

test('the results add up all draws, and list the survivors of each', () => {
  const draw = (seed: number, since: Record<string, string>) => ({
    ...{ on: '2026-02-03', seed, planted: 6, judged: 5, since },
    survivors: ['a.ts:1 x -> y', 'b.ts:2 x -> y'],
    why: { 'b.ts:2 x -> y': 'y does the same' }
  });
  const detected = { 'a.ts:1 x -> y': 'detected by a.test.ts since' };
  const { rows, notes } = drawsReport([draw(1, detected), draw(2, {})]);
  expect(rows.map(({ text, pass }) => ({ text, pass }))).toEqual([
    { text: '6 of 10, 60 %', pass: undefined },
    { text: '7 of 10, 70 %', pass: false }
  ]);
  expect(notes).toEqual([
    expect.stringMatching(/seed 1, .* Detected when drawn: 3, by now: 4\.$/),
    '`a.ts:1 x -> y`: detected by a.test.ts since',
    '`b.ts:2 x -> y`: not detected: y does the same',
    expect.stringMatching(/seed 2, .* Detected when drawn: 3, by now: 3\.$/),
    '`a.ts:1 x -> y`: not detected',
    '`b.ts:2 x -> y`: not detected: y does the same'
  ]);
});
