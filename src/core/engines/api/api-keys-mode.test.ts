import { chmodSync } from 'node:fs';
import { afterEach, beforeEach, expect, test } from 'vitest';
import {
  createTempWorkspace,
  type TempWorkspace
} from '../../../../test/kit/workspaces/temp-workspace.ts';
import type { ApiEngine } from '../../../plugin/plugin.ts';
import { ApiKeys } from './api-keys.ts';

const engine: ApiEngine = {
  kind: 'api',
  name: 'x',
  description: '',
  keyNames: ['A_KEY'],
  generate: async () => ({ text: '', finished: true })
};

let workspace: TempWorkspace;
let problems: string[];

beforeEach(() => {
  workspace = createTempWorkspace();
  problems = [];
});

afterEach(() => workspace.remove());

/** The keys of a file with this mode, and the file. */
function keysWith(mode: string): { keys: ApiKeys; file: string } {
  const file = workspace.write('api_keys.json', '{"A_KEY": "the-value"}');
  chmodSync(file, Number.parseInt(mode, 8));
  const keys = new ApiKeys({
    directories: [workspace.path],
    onProblem: (problem) => problems.push(problem),
    environment: {}
  });
  return { keys, file };
}

test.each(['600', '400', '700'])(
  'a key file of mode %s is used without a word',
  (mode) => {
    expect(keysWith(mode).keys.find(engine)?.value).toBe('the-value');
    expect(problems).toEqual([]);
  }
);

test.each(['640', '620', '610', '604', '602', '601'])(
  'a key file of mode %s is used, and one line says once how to close it',
  (mode) => {
    const { keys, file } = keysWith(mode);
    expect(keys.find(engine)?.value).toBe('the-value');
    keys.find(engine);
    expect(problems).toEqual([
      `${file} can be read by others (mode ${mode}). Run: chmod 600 "${file}"`
    ]);
  }
);
