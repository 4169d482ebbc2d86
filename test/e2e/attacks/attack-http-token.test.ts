import { execFileSync } from 'node:child_process';
import { chmodSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { startHttp, tokenFileOf } from '../../kit/servers/http-server.ts';
import { ask, initialize } from '../../kit/servers/raw-http.ts';
import {
  createTempWorkspace,
  type TempWorkspace
} from '../../kit/workspaces/temp-workspace.ts';

let workspace: TempWorkspace;

beforeEach(() => {
  workspace = createTempWorkspace();
});

afterEach(() => workspace.remove());

test('a token in an archive that the user unpacked opens nothing', async () => {
  const known = 'attackerknowntoken1234567890';
  const author = createTempWorkspace();
  chmodSync(author.write('.agents/http/token', `${known}\n`), 0o600);
  for (const folder of ['.agents', '.agents/http'])
    chmodSync(join(author.path, folder), 0o700);
  const archive = join(author.home, 'project.tar');
  execFileSync('tar', ['-cf', archive, '-C', author.path, '.']);
  execFileSync('tar', ['-xf', archive, '-C', workspace.path]);
  author.remove();
  const server = await startHttp(workspace);
  const body = initialize;
  expect((await ask({ ...server, token: known }, { body })).status).toBe(401);
  expect((await ask(server, { body })).status).toBe(200);
  expect(server.token).not.toBe(known);
  expect(server.command.stderr).toContain(tokenFileOf(workspace));
  expect(server.command.stderr).not.toContain(
    join(workspace.path, '.agents', 'http')
  );
  expect(await server.end()).toBe(0);
});
