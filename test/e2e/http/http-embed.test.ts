import { spawn } from 'node:child_process';
import { mkdirSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import {
  blocksOf,
  documentAt,
  packageRoot
} from '../../kit/judges/documents.ts';
import { RunningCommand } from '../../kit/servers/command-line.ts';
import { httpClient, tokenOf } from '../../kit/servers/http-server.ts';
import { testEnvironment } from '../../kit/servers/mcp-client.ts';
import {
  createTempWorkspace,
  type TempWorkspace
} from '../../kit/workspaces/temp-workspace.ts';

let workspace: TempWorkspace;

beforeEach(() => {
  workspace = createTempWorkspace();
  mkdirSync(join(workspace.path, 'node_modules'));
  symlinkSync(packageRoot, join(workspace.path, 'node_modules', 'troupe'));
});

afterEach(() => workspace.remove());

test('the program in docs/guides/http.md serves its own tool next to ours', async () => {
  const [program = ''] = blocksOf(documentAt('docs/guides/http.md'), 'js');
  const file = workspace.write('serve.mjs', program);
  const child = spawn(process.execPath, [file], {
    cwd: workspace.path,
    env: testEnvironment(workspace)
  });
  const command = new RunningCommand(child);
  const [, url = ''] = await command.says('stdout', /(http:\S+\/mcp)/);
  const token = tokenOf(workspace);
  const port = Number(new URL(url).port);
  const end = async () => null;
  const client = await httpClient({ command, url, port, token, end });
  const { tools } = await client.sdk.listTools();
  const names = tools.map(({ name }) => name);
  expect(names).toContain('list');
  expect(names.at(-1)).toBe('word_count');
  const counted = await client.call('word_count', { text: 'one two three' });
  expect(counted).toMatchObject({ isError: false, text: '3' });
  const wrong = await client.call('word_count', {});
  expect(wrong).toMatchObject({
    isError: true,
    data: { error_code: 'internal' }
  });
  await client.leave();
  child.kill('SIGTERM');
  expect(await command.exited).toMatchObject({ code: 0 });
});
