import { existsSync, mkdirSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { type McpClient, startServer } from '../../kit/servers/mcp-client.ts';
import { startMember } from '../../kit/servers/squad-call.ts';
import {
  createTempWorkspace,
  type TempWorkspace
} from '../../kit/workspaces/temp-workspace.ts';

let workspace: TempWorkspace;
let server: McpClient;
/** The workspace, by the path that a link makes. */
let alias: string;

beforeEach(async () => {
  workspace = createTempWorkspace();
  const base = join(workspace.path, '..');
  alias = join(base, 'alias', 'workspace');
  symlinkSync(base, join(base, 'alias'));
  mkdirSync(join(workspace.path, 'sub'));
  symlinkSync(workspace.home, join(workspace.path, 'out'));
  workspace.write('troupe.config.json', '{"engines": {"rehearsal": true}}');
  workspace.write('agents/tester.md', 'You test.');
  const env = { ENGINE: 'rehearsal' };
  server = await startServer({ ...workspace, path: alias }, { env });
});

afterEach(async () => {
  await server.close();
  expect(server.impurities).toEqual([]);
  workspace.remove();
});

test('an agent works where its client says, by either path of the workspace', async () => {
  const real = join(workspace.path, 'sub');
  for (const cwd of [join(alias, 'sub'), real, 'sub']) {
    const input = { prompt: 'say x', cwd };
    const { data } = await server.call('spawn_rehearsal', input);
    expect(data.message).toContain(`${real},`);
  }
});

test('so does a member of a squad', async () => {
  const task = 'write here.txt x';
  const member = { roleId: 'tester', task, cwd: join(alias, 'sub') };
  expect(await startMember(server, member)).toMatchObject({
    status: 'completed'
  });
  expect(existsSync(join(workspace.path, 'sub', 'here.txt'))).toBe(true);
});

test('what is outside stays so by either path', async () => {
  for (const root of [alias, workspace.path])
    for (const below of ['..', 'out', 'out/nothing']) {
      const input = { prompt: 'say x', cwd: join(root, below) };
      const { data } = await server.call('spawn_rehearsal', input);
      expect(data.error_code).toBe('cwd_outside');
    }
});
