import { execFileSync } from 'node:child_process';
import {
  cpSync,
  existsSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync
} from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { runCommand } from '../../kit/servers/command-line.ts';
import { type McpClient, startServer } from '../../kit/servers/mcp-client.ts';
import { removeWhileUsed } from '../../kit/workspaces/remove-while-used.ts';
import {
  createTempWorkspace,
  type TempWorkspace
} from '../../kit/workspaces/temp-workspace.ts';

const secret = 'TOP-SECRET-OF-THE-USER';

const shell = `export default { kind: 'cli', name: 'shell', description: 'Runs.',
  command: '/bin/sh', args: () => ['-s'], resumes: true };\n`;

let workspace: TempWorkspace;
let server: McpClient | undefined;

beforeEach(() => {
  workspace = createTempWorkspace();
  writeFileSync(join(workspace.home, 'secret.txt'), secret);
});

afterEach(async () => {
  await server?.close();
  server = undefined;
  workspace.remove();
});

describe('a record that was tampered with', () => {
  let id: string;
  let folder: string;

  beforeEach(async () => {
    workspace.write('shell.mjs', shell);
    workspace.write('evil.sh', '#!/bin/sh\ntouch "$HOME/pwned"\n');
    execFileSync('chmod', ['755', join(workspace.path, 'evil.sh')]);
    workspace.write(
      '.trouperc.json',
      JSON.stringify({ plugins: ['./shell.mjs'] })
    );
    server = await startServer(workspace);
    const { data } = await server.call('spawn_shell', { prompt: 'echo ok' });
    id = String(data.agent_id);
    await server.call('wait_for_agents', { agent_ids: [id] });
    await server.close();
    folder = join(workspace.record, 'spawns', id);
    change('outcome.json', { session_id: 'abc' });
  });

  function change(name: string, facts: object): void {
    const path = join(folder, name);
    const before = JSON.parse(readFileSync(path, 'utf8'));
    writeFileSync(path, JSON.stringify({ ...before, ...facts }));
  }

  async function continued(...flags: string[]) {
    server = await startServer(workspace, { flags });
    const { data } = await server.call('continue_agent', {
      agent_id: id,
      prompt: 'echo more'
    });
    if (typeof data.agent_id === 'string')
      await server.call('wait_for_agents', { agent_ids: [data.agent_id] });
    return data;
  }

  test('attack: it names a program of the project', async () => {
    change('record.json', { program: join(workspace.path, 'evil.sh') });
    expect((await continued()).error_code).toBe('no_session');
    expect(existsSync(join(workspace.home, 'pwned'))).toBe(false);
  });

  test.each([
    '/home/of/somebody/.config/autostart',
    '../home/.config/autostart'
  ])('attack: it names a worktree in %s', async (path) => {
    change('record.json', {
      worktree: {
        ...{ path, branch: 'x', base: 'HEAD' },
        origin: workspace.path
      }
    });
    const { error_code } = await continued();
    expect(error_code).toMatch(/no_session|unknown_agent|state_invalid/);
    expect(existsSync(join(workspace.home, '.config'))).toBe(false);
  });

  test('attack: it names a directory outside of the workspace', async () => {
    change('record.json', { cwd: workspace.home });
    expect((await continued()).error_code).toBe('cwd_outside');
  });

  test('attack: it has more access than is allowed', async () => {
    change('record.json', { access: 'full' });
    const { message } = await continued('--max-access', 'read');
    expect(message).toContain('access read');
  });

  test.each([
    { engine: '__proto__' },
    { engine: 'constructor' },
    { agent_id: '../../etc' },
    { timeout_seconds: -1 },
    { owner: 'me' }
  ])('attack: it holds %j', async (facts) => {
    change('record.json', facts);
    expect((await continued()).error_code).toMatch(
      /unknown_engine|state_invalid/
    );
  });

  test.each([
    { result_file: '../../../../secret.txt' },
    { cost_usd: -5 },
    { status: 'running' },
    { duration_ms: '1e308' }
  ])('attack: its outcome holds %j', async (facts) => {
    change('outcome.json', facts);
    const { code, stdout } = await runCommand(workspace, ['result', id]);
    expect(code).toBe(1);
    expect(stdout).not.toContain(secret);
  });

  test.each(['result.txt', 'stdout'])(
    'attack: its %s is a link to a file of the user',
    async (name) => {
      const path = join(folder, name);
      rmSync(path);
      symlinkSync(join(workspace.home, 'secret.txt'), path);
      change('outcome.json', { result_file: name });
      removeWhileUsed(join(workspace.path, 'logs'));
      const ran = await runCommand(workspace, ['result', id]);
      expect(ran.stdout).not.toContain(secret);
      server = await startServer(workspace);
      const { text } = await server.call('result', { agent_id: id });
      expect(text).not.toContain(secret);
      const page = join(workspace.path, 'logs', 'agents', `${id}.md`);
      if (existsSync(page))
        expect(readFileSync(page, 'utf8')).not.toContain(secret);
    }
  );

  test('attack: it is a copy from another workspace', async () => {
    const copy = join(workspace.record, 'spawns', 'deadbeef');
    cpSync(folder, copy, { recursive: true });
    server = await startServer(workspace);
    const { data } = await server.call('result', { agent_id: 'deadbeef' });
    expect(data.result).toBeUndefined();
  });
});
