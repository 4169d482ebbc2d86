import { renameSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { makeUp } from '../../testing/made-up-agents.ts';
import { outcomeWith } from '../../testing/run-facts.ts';
import {
  createTempWorkspace,
  type TempWorkspace
} from '../../testing/temp-workspace.ts';
import { readWords } from './words.ts';

let workspace: TempWorkspace;
let directory: string;

beforeEach(() => {
  workspace = createTempWorkspace();
  workspace.write('secret', 'a secret');
  directory = makeUp(workspace.record, {
    agent_id: '00c0ffee',
    daysAgo: 0,
    text: 'an answer'
  });
});

afterEach(() => workspace.remove());

async function answer(facts: object = {}): Promise<string> {
  const outcome = outcomeWith({ result_chars: 8, ...facts });
  const whole = { chars: 100, bytes: 100 };
  const told = [];
  for (const offset of [undefined, 0]) {
    const words = await readWords(directory, outcome, { offset, reach: 100 });
    told.push(words.full('result').within(whole));
  }
  return JSON.stringify(told);
}

test("an agent's own file is read", async () => {
  expect(await answer()).toContain('an answer');
});

test('a link in its place is not followed', async () => {
  const path = join(directory, 'result.txt');
  renameSync(path, join(workspace.path, 'before'));
  symlinkSync(join(workspace.path, 'secret'), path);
  const told = await answer();
  expect(told).not.toContain('a secret');
  expect(told).toContain('is gone');
});

test('a name that leads out of its folder is not followed', async () => {
  const told = await answer({ result_file: '../../../secret' });
  expect(told).not.toContain('a secret');
  expect(told).toContain('is gone');
});
