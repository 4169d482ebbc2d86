import { spawnSync } from 'node:child_process';
import { closeSync, existsSync, openSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { makeUp } from '../../kit/agents/made-up-agents.ts';
import { packageRoot } from '../../kit/judges/documents.ts';
import { runCommand } from '../../kit/servers/command-line.ts';
import { testEnvironment } from '../../kit/servers/mcp-client.ts';
import { needing } from '../../kit/workspaces/needs.ts';
import {
  createTempWorkspace,
  type TempWorkspace
} from '../../kit/workspaces/temp-workspace.ts';

const testFull = needing('/dev/full', existsSync('/dev/full'));

let workspace: TempWorkspace;

beforeAll(() => {
  workspace = createTempWorkspace();
});

afterAll(() => workspace.remove());

/** A command whose stdout is this file. */
function commandInto(path: string, args: string[]) {
  const file = openSync(path, 'w');
  try {
    const { status, stderr } = spawnSync(
      process.execPath,
      [join(packageRoot, 'dist', 'troupe.cjs'), ...args],
      {
        cwd: workspace.path,
        stdio: ['ignore', file, 'pipe'],
        encoding: 'utf8',
        env: testEnvironment(workspace)
      }
    );
    return { status, stderr };
  } finally {
    closeSync(file);
  }
}

for (const args of [
  ['list'],
  ['list', '--json'],
  ['--help'],
  ['run', '--json']
])
  testFull(
    `"troupe ${args.join(' ')}" whose output finds no room on the disk says so`,
    () => {
      const { status, stderr } = commandInto('/dev/full', args);
      expect(status).toBe(1);
      expect(stderr).toMatch(
        /^troupe: stdout cannot be written, so its end is missing: ENOSPC[^\n]*\.\n/m
      );
    }
  );

test('a reader that closes the pipe early causes no message', () => {
  const troupe = join(packageRoot, 'dist', 'troupe.cjs');
  const { status, stdout, stderr } = spawnSync(
    'sh',
    [
      '-c',
      '{ "$0" "$1" completion bash; echo $? >&2; } | true',
      process.execPath,
      troupe
    ],
    { cwd: workspace.path, encoding: 'utf8', env: testEnvironment(workspace) }
  );
  expect({ status, stdout, stderr }).toEqual({
    status: 0,
    stdout: '',
    stderr: '0\n'
  });
});

test('the newline that a text lacks comes with its last words', async () => {
  makeUp(workspace.record, { agent_id: 'abcd1111', daysAgo: 1, text: 'Done.' });
  const writes = workspace.write('writes', '');
  const hook = workspace.write(
    'hook.cjs',
    `const { appendFileSync } = require('node:fs');
    const write = process.stdout.write;
    process.stdout.write = function (text, ...rest) {
      const words = String(text);
      if (words) appendFileSync(${JSON.stringify(writes)}, JSON.stringify(words));
      return write.call(this, text, ...rest);
    };`
  );
  const env = { NODE_OPTIONS: `--require=${hook}` };
  const args = ['result', 'abcd1111'];
  const { stdout } = await runCommand(workspace, args, { env });
  expect(stdout).toBe('Done.\n');
  expect(readFileSync(writes, 'utf8')).toBe('"Done.\\n"');
});
