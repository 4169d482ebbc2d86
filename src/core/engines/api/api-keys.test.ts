import { chmodSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import {
  createTempWorkspace,
  type TempWorkspace
} from '../../../../test/kit/workspaces/temp-workspace.ts';
import type { ApiEngine } from '../../../plugin/plugin.ts';
import { ApiKeys, missingKey } from './api-keys.ts';

const engine: ApiEngine = {
  kind: 'api',
  name: 'x',
  description: '',
  keyNames: ['FIRST_KEY', 'SECOND_KEY'],
  generate: async () => ({ text: '', finished: true })
};

let workspace: TempWorkspace;
let problems: string[];

beforeEach(() => {
  workspace = createTempWorkspace();
  problems = [];
});

afterEach(() => workspace.remove());

function keysOf(
  environment: Record<string, string> = {},
  directories = [workspace.path]
): ApiKeys {
  const onProblem = (problem: string) => problems.push(problem);
  return new ApiKeys({ directories, onProblem, environment });
}

function write(text: string, directory = workspace.path): string {
  const file = join(directory, 'api_keys.json');
  writeFileSync(file, text);
  chmodSync(file, 0o600);
  return file;
}

test('the file comes before the environment, whatever the name', () => {
  const file = write('{"SECOND_KEY": "of-the-file"}');
  const keys = keysOf({ FIRST_KEY: 'of-the-environment' });
  expect(keys.find(engine)).toEqual({
    name: 'SECOND_KEY',
    value: 'of-the-file',
    from: file
  });
});

test.each(['$FIRST_KEY', '${FIRST_KEY}', '${env:FIRST_KEY}'])(
  'a client that passes on %s unexpanded provides no key',
  (value) => {
    const keys = keysOf({ FIRST_KEY: value, SECOND_KEY: 'a-$key' });
    expect(keys.find(engine)?.value).toBe('a-$key');
    keys.remember([engine]);
    expect(keys.secrets()).toEqual(['a-$key']);
  }
);

test('an empty key counts as absent, and outer blanks are trimmed', () => {
  write('{"FIRST_KEY": "", "SECOND_KEY": " \\n"}');
  const keys = keysOf({ FIRST_KEY: '  ', SECOND_KEY: ' kept\n' });
  expect(keys.find(engine)).toEqual({
    name: 'SECOND_KEY',
    value: 'kept',
    from: 'environment'
  });
});

test('the first directory with a key wins', () => {
  const other = join(workspace.home, 'config');
  mkdirSync(other);
  write('{"UNRELATED": "x"}');
  const beside = write('{"FIRST_KEY": "beside"}', other);
  const keys = keysOf({}, [workspace.path, other, other]);
  expect(keys.find(engine)).toMatchObject({ value: 'beside', from: beside });
  write('{"SECOND_KEY": "of-the-workspace"}');
  expect(keys.find(engine)).toMatchObject({ value: 'of-the-workspace' });
});

test('an engine without key names needs no key', () => {
  const free = { ...engine, keyNames: [] };
  expect(keysOf().isReady(free)).toBe(true);
  expect(keysOf().isReady(engine)).toBe(false);
});

test('a removed key stays a secret', () => {
  const file = write('{"FIRST_KEY": "once-there", "OTHER": "also-secret"}');
  const keys = keysOf({ FIRST_KEY: 'one-of-environment', LANG: 'C' });
  keys.remember([engine]);
  expect(keys.secrets().sort()).toEqual([
    'also-secret',
    'once-there',
    'one-of-environment'
  ]);
  rmSync(file);
  expect(keys.secrets()).toContain('once-there');
  expect(keys.find(engine)).toMatchObject({ value: 'one-of-environment' });
  expect(problems).toEqual([]);
});

test('a value that is not text is ignored, and its name is reported once', () => {
  write('{"FIRST_KEY": {"value": "hidden"}, "SECOND_KEY": "good"}');
  const keys = keysOf();
  for (let look = 0; look < 3; look += 1)
    expect(keys.find(engine)).toMatchObject({ value: 'good' });
  expect(problems).toHaveLength(1);
  expect(problems[0]).toContain('the value of "FIRST_KEY" is not text');
  expect(problems[0]).not.toContain('hidden');
});

test.each([
  ['{"FIRST_KEY": "half', 'it is not valid JSON'],
  ['"half"', 'it is not a JSON object'],
  ['null', 'it is not a JSON object']
])('a file with %s is reported and counts as empty', (text, said) => {
  const file = write(text);
  const keys = keysOf({ FIRST_KEY: 'of-the-environment' });
  expect(keys.find(engine)).toMatchObject({ from: 'environment' });
  expect(problems).toEqual([
    `${file} cannot be read, so its keys are missing: ${said}. It holds one JSON object of names and keys, like api_keys.example.json.`
  ]);
});

test('a directory with the name of the file is reported', () => {
  mkdirSync(join(workspace.path, 'api_keys.json'));
  expect(keysOf().find(engine)).toBeUndefined();
  expect(problems[0]).toContain('EISDIR');
});

test('a missing key is reported with its names and with the address to get one', () => {
  const keyUrl = 'https://example.org/keys';
  expect(missingKey({ ...engine, keyUrl }, 'X')).toBe(
    'X has no key: none of FIRST_KEY, SECOND_KEY is in api_keys.json or in the environment. Get one at https://example.org/keys.'
  );
  const one = { ...engine, keyNames: ['ONLY_KEY'] };
  expect(missingKey(one, 'X')).toBe(
    'X has no key: ONLY_KEY is not in api_keys.json or in the environment.'
  );
});

test.each(['“typographic”', '열쇠', 'two\nlines', 'nul\0'])(
  'a key that no header can hold is reported and not sent: %j',
  (value) => {
    const file = write(JSON.stringify({ FIRST_KEY: value }));
    const keys = keysOf();
    expect(keys.isReady(engine)).toBe(false);
    const { code, message } = { ...keys.faultOf(engine, 'X') };
    expect(code).toBe('auth');
    expect(message).toContain(`the key FIRST_KEY (${file})`);
    expect(message).not.toContain(value);
  }
);

test('a key with a space or an accent can be sent', () => {
  write('{"FIRST_KEY": "clé with space"}');
  expect(keysOf().faultOf(engine, 'X')).toBeUndefined();
});
