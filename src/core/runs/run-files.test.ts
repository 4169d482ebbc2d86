import { renameSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { makeUp } from '../../../test/kit/agents/made-up-agents.ts';
import { outcomeWith } from '../../../test/kit/servers/run-facts.ts';
import {
  createTempWorkspace,
  type TempWorkspace
} from '../../../test/kit/workspaces/temp-workspace.ts';
import { readWords } from '../../answers/read-output.ts';

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
  const shown = [];
  for (const offset of [undefined, 0]) {
    const words = await readWords(directory, outcome, { offset, reach: 100 });
    shown.push(words.full('result').within(whole));
  }
  return JSON.stringify(shown);
}

test("a file in an agent's folder is read", async () => {
  expect(await answer()).toContain('an answer');
});

test('a link in place of the file is not followed', async () => {
  const path = join(directory, 'result.txt');
  renameSync(path, join(workspace.path, 'before'));
  symlinkSync(join(workspace.path, 'secret'), path);
  const shown = await answer();
  expect(shown).not.toContain('a secret');
  expect(shown).toContain('is gone');
});

test('a name that leads out of the folder is not followed', async () => {
  const shown = await answer({ result_file: '../../../secret' });
  expect(shown).not.toContain('a secret');
  expect(shown).toContain('is gone');
});
