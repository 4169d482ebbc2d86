import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { z } from 'zod';
import {
  type CursorCall,
  cursorAgentProgram
} from '../../kit/agents/cursor-agent-program.ts';
import { runCommand } from '../../kit/servers/command-line.ts';
import { type McpClient, startServer } from '../../kit/servers/mcp-client.ts';
import { surroundings } from '../../kit/workspaces/surroundings.ts';
import {
  createTempWorkspace,
  type TempWorkspace
} from '../../kit/workspaces/temp-workspace.ts';

const doctorSchema = z.object({
  engines: z.array(z.looseObject({ name: z.string() }))
});

let workspace: TempWorkspace;
let server: McpClient;
let seen: () => CursorCall;

beforeEach(async () => {
  workspace = createTempWorkspace();
  workspace.write('sub/file', '');
  seen = cursorAgentProgram(workspace).seen;
  server = await startServer(workspace, { env: surroundings });
});

afterEach(async () => {
  await server.close();
  expect(server.impurities).toEqual([]);
  workspace.remove();
});

async function spawn(prompt: string, more: Record<string, unknown> = {}) {
  const input = { prompt, ...more };
  const { data } = await server.call('spawn_cursor_agent', input);
  return String(data.agent_id);
}

async function ended(agent_id: unknown) {
  await server.call('wait_for_agents', { agent_ids: [agent_id], timeout: 60 });
  return (await server.call('result', { agent_id })).data;
}

async function run(prompt: string, more: Record<string, unknown> = {}) {
  return ended(await spawn(prompt, more));
}

describe('Cursor is called', () => {
  const common = ['-p', '--output-format', 'stream-json', '--trust'];

  test.each([
    ['plainly', {}, [...common, '--force']],
    ['to write', { access: 'write' }, common],
    ['to read', { access: 'read' }, [...common, '--mode', 'ask']],
    [
      'with a model',
      { model: 'composer-1' },
      [...common, '--force', '--model', 'composer-2.5']
    ]
  ])('%s', async (_, more, argv) => {
    const data = await run('say: All done.', { ...more, cwd: 'sub' });
    expect(data).toMatchObject({ status: 'completed', result: 'All done.' });
    expect(seen()).toMatchObject({ argv, cwd: join(workspace.path, 'sub') });
  });

  test('with a system prompt before the prompt', async () => {
    await run('say: hi', { system_prompt: 'Be "brief".' });
    expect(seen().prompt).toBe('Be "brief".\n\nsay: hi');
  });

  test('with a megabyte of prompt', async () => {
    const prompt = `${'--yes "é" 😀\n'.repeat(70_000)}say: hi`;
    expect(await run(prompt)).toMatchObject({ result: 'hi' });
    expect(seen().prompt === prompt).toBe(true);
  });

  test('with its own key only', async () => {
    await run('say: hi');
    const names = Object.keys(seen().env);
    expect(names).toContain('CURSOR_API_KEY');
    for (const name of ['ANTHROPIC_API_KEY', 'OPENAI_API_KEY', 'CLAUDECODE'])
      expect(names).not.toContain(name);
  });
});

test('what a run reports of itself is in its result', async () => {
  expect(await run('say: hi')).toMatchObject({
    model: 'Auto',
    usage: {
      prompt_tokens: 17540,
      completion_tokens: 17,
      total_tokens: 17557
    },
    cost_usd: null
  });
});

test('a session goes on with what was said before', async () => {
  const first = await run('say: One.', { access: 'read' });
  expect(first.session_id).toMatch(/^[0-9a-f-]{36}$/);
  const { agent_id } = first;
  const next = { agent_id, prompt: 'recall' };
  const { data } = await server.call('continue_agent', next);
  expect(await ended(data.agent_id)).toMatchObject({
    status: 'completed',
    result: 'say: One.',
    session_id: first.session_id
  });
  expect(seen().argv).toContain('ask');
  expect(seen().argv.at(-1)).toBe(`--resume=${first.session_id}`);
});

test('a command runs with full access, and is otherwise refused and reported as denied', async () => {
  expect(await run('shell: npm test')).toMatchObject({
    status: 'completed',
    result: 'It is done.'
  });
  const refused = await run('shell: npm test', { access: 'write' });
  expect(refused).toMatchObject({
    status: 'completed',
    result: 'It was refused.',
    denials: ['shell: npm test']
  });
});

test('a spawn says that the access is only asked for', async () => {
  const input = { prompt: 'say: hi', access: 'read' };
  const { text } = await server.call('spawn_cursor_agent', input);
  expect(text).toMatch(/asked/);
});

test('an answer that is repeated on stderr is an answer', async () => {
  expect(await run('mirror: hi')).toMatchObject({
    status: 'completed',
    result: 'hi'
  });
});

describe('no failure is taken for an answer', () => {
  test.each([
    ['a crash', 'crash', {}, 'provider_error'],
    ['an end without a result', 'vanish', {}, 'bad_output'],
    ['an error in the result', 'error result', {}, 'provider_error'],
    ['an error that exits 0', 'polite error result', {}, 'provider_error'],
    ['an empty answer', 'say: ', {}, 'bad_output'],
    ['a used-up account', 'out of quota', {}, 'quota'],
    ['an unknown model', 'say: hi', { model: 'gpt-9' }, 'model_not_found']
  ])('%s', async (_, prompt, more, error_code) => {
    const data = await run(prompt, more);
    expect(data).toMatchObject({
      status: 'failed',
      success: false,
      error_code
    });
  });

  test('an untrusted directory, refused with exit code 0', async () => {
    const data = await run('untrusted');
    expect(data).toMatchObject({ status: 'failed', success: false });
  });

  test('a model that the plan does not hold', async () => {
    const data = await run('say: hi', { model: 'gpt-5.5-high' });
    expect(data).toMatchObject({ status: 'failed', success: false });
  });

  test('a program that stays after its result ends by the idle limit', async () => {
    workspace.write(
      'troupe.config.json',
      '{"engines": {"cursor-agent": {"idleTimeoutSeconds": 1}}}'
    );
    await server.close();
    server = await startServer(workspace, { env: surroundings });
    const data = await run('linger: hi');
    expect(data).toMatchObject({
      status: 'timeout',
      error_code: 'idle_timeout',
      result: 'hi'
    });
  });
});

describe('without a login', () => {
  const loggedOut = { ...surroundings, CURSOR_API_KEY: '' };

  test('a run fails and says how to log in', async () => {
    await server.close();
    server = await startServer(workspace, { env: loggedOut });
    const data = await run('say: hi');
    expect(data).toMatchObject({
      status: 'failed',
      error_code: 'not_logged_in'
    });
    expect(data.error).toMatch(/agent login/);
  });

  test('a revoked key is distinguished from none', async () => {
    await server.close();
    const env = { ...surroundings, CURSOR_API_KEY: 'revoked' };
    server = await startServer(workspace, { env });
    expect(await run('say: hi')).toMatchObject({ error_code: 'auth' });
  });

  test('doctor reports version and login', async () => {
    const check = async () => {
      const { stdout } = await runCommand(workspace, ['doctor', '--json']);
      const { engines } = doctorSchema.parse(JSON.parse(stdout));
      return engines.find(({ name }) => name === 'cursor-agent');
    };
    expect(await check()).toMatchObject({
      version: '2026.09.28-64d2043',
      login: 'not logged in',
      next: expect.stringContaining('cursor-agent login')
    });
    const login = join(workspace.home, '.config', 'cursor');
    mkdirSync(login, { recursive: true });
    writeFileSync(join(login, 'auth.json'), '{}');
    expect(await check()).toMatchObject({ login: 'logged in', ready: true });
  });
});
