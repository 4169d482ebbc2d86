import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  symlinkSync,
  writeFileSync
} from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { done } from '../../kit/servers/council-calls.ts';
import {
  councilIn,
  leftBeside,
  startCouncilServer
} from '../../kit/servers/council-servers.ts';
import type { McpClient } from '../../kit/servers/mcp-client.ts';
import {
  createTempWorkspace,
  type TempWorkspace
} from '../../kit/workspaces/temp-workspace.ts';

let workspace: TempWorkspace;
let folder: string;
let server: McpClient;

beforeEach(async () => {
  workspace = createTempWorkspace();
  folder = join(workspace.home, 'shared');
  mkdirSync(folder);
  chmodSync(folder, 0o1777);
  const env = { AGENTS_COUNCIL_STATE_PATH: join(folder, 'c.json') };
  server = await startCouncilServer(workspace, { env });
});

afterEach(async () => {
  await server.close();
  workspace.remove();
});

const question = { agent_name: 'a', request: 'Here?' };

describe('in a folder like /tmp, where everybody may add something,', () => {
  test('a council is held, and its sessions are kept', async () => {
    await done(server, 'start_council', question);
    const { session_id } = await done(server, 'start_council', question);
    const path = join(folder, 'c.json');
    expect(councilIn(path).session?.id).toBe(session_id);
    expect(readdirSync(join(folder, 'history'))).toContainEqual(
      expect.stringMatching(/\.json$/)
    );
    await server.close();
    expect(leftBeside(path)).toEqual([]);
  });

  test.each(['c.json', 'c.json.lock', 'c.json.v1.bak', 'history', 'texts'])(
    'there is none where %s was prepared as a link',
    async (name) => {
      const target = join(workspace.home, 'target');
      symlinkSync(target, join(folder, name));
      const { isError, data } = await server.call('start_council', question);
      expect({ isError, code: data.error_code }).toEqual({
        isError: true,
        code: 'state_unsafe'
      });
      expect(data.error).toContain(`${join(folder, name)} is a symbolic link`);
      expect(existsSync(target)).toBe(false);
    }
  );

  test.each(['c.json', 'c.json.lock'])(
    'there is none, and nothing is waited for, where %s is a pipe',
    async (name) => {
      execFileSync('mkfifo', [join(folder, name)]);
      const { data } = await server.call('start_council', question);
      expect(data.error_code).toBe('state_unsafe');
      expect(data.error).toContain(
        `${join(folder, name)} is not a regular file`
      );
    }
  );
});

test('a folder whose files any user may remove is refused and left as it is', async () => {
  chmodSync(folder, 0o777);
  writeFileSync(join(folder, "somebody's"), '');
  const { data } = await server.call('start_council', question);
  expect(data.error_code).toBe('state_unsafe');
  expect(data.hint).toContain('AGENTS_COUNCIL_STATE_PATH');
  expect(readdirSync(folder)).toEqual(["somebody's"]);
});
