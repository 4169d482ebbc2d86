import { mkdirSync, readdirSync, rmSync, symlinkSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  type McpClient,
  startServer,
  type ToolResult
} from '../../kit/servers/mcp-client.ts';
import {
  createTempWorkspace,
  type TempWorkspace
} from '../../kit/workspaces/temp-workspace.ts';

let workspace: TempWorkspace;
let server: McpClient;
const prompt = 'say hello';
const long = 'x'.repeat(300_000);

beforeAll(async () => {
  workspace = createTempWorkspace();
  workspace.write('a-file', 'text');
  mkdirSync(join(workspace.path, 'inside'));
  symlinkSync('/tmp', join(workspace.path, 'way-out'));
  symlinkSync('inside', join(workspace.path, 'way-in'));
  workspace.write('../workspace-evil/file', 'a sibling with the same start');
  server = await startServer(workspace, { flags: ['--engines', 'rehearsal'] });
});

afterAll(async () => {
  expect(server.impurities).toEqual([]);
  expect(server.stderr).toBe('');
  await server.close();
  workspace.remove();
});

describe('a spawn is refused with what to correct', () => {
  test.each([
    ['an unknown key', { prompt, sandbox: true }, '"sandbox"'],
    ['several unknown keys', { prompt, Model: 'x', effort: 1 }, '"effort"'],
    ['an unknown key as long as a book', { prompt, [long]: 1 }, 'xxx'],
    ['no prompt', {}, '"prompt"'],
    ['an empty prompt', { prompt: '' }, '"prompt"'],
    ['a blank prompt', { prompt: ' \n\t' }, 'prompt'],
    ['a prompt that is not text', { prompt: ['say'] }, '"prompt"'],
    ['a NUL in the prompt', { prompt: 'a\0b' }, 'prompt'],
    ['a NUL in the system prompt', nul('system_prompt'), 'system_prompt'],
    ['a NUL in the model', nul('model'), 'model'],
    ['a NUL in the cwd', nul('cwd'), 'cwd'],
    ['a model like a flag', { prompt, model: '--yolo' }, 'model'],
    ['a timeout of 0', { prompt, timeout: 0 }, '"timeout"'],
    ['a negative timeout', { prompt, timeout: -1 }, '"timeout"'],
    ['an absurd timeout', { prompt, timeout: 1e15 }, '"timeout"'],
    ['a timeout in words', { prompt, timeout: '60' }, '"timeout"'],
    ['a timeout of null', { prompt, timeout: null }, '"timeout"'],
    ['an unknown access', { prompt, access: 'root' }, '"access"'],
    ['an empty request_id', { prompt, request_id: '' }, '"request_id"'],
    ['a long request_id', { prompt, request_id: long }, '"request_id"'],
    ['a long model', { prompt, model: long }, '"model"'],
    ['a long cwd', { prompt, cwd: long }, '"cwd"']
  ])('%s', async (_, input, named) => {
    await expectRefused('spawn_rehearsal', input, 'invalid_input', named);
  });

  test.each([
    ['a cwd above the workspace', '..', 'cwd_outside'],
    ['a cwd that climbs out', 'inside/../../home', 'cwd_outside'],
    ['a sibling with the same start', '../workspace-evil', 'cwd_outside'],
    ['an absolute cwd outside', '/etc', 'cwd_outside'],
    ['a link out', 'way-out', 'cwd_outside'],
    ['a folder behind a link out', 'way-out/../etc', 'cwd_missing'],
    ['a cwd that is not there', 'nowhere', 'cwd_missing'],
    ['a cwd that is a file', 'a-file', 'cwd_missing'],
    ['a folder below a file', 'a-file/folder', 'cwd_missing']
  ])('%s', async (_, cwd, code) => {
    await expectRefused('spawn_rehearsal', { prompt, cwd }, code, cwd);
  });
});

test('a cwd inside is taken, absolute, relative or through a link', async () => {
  const inside = join(workspace.path, 'inside');
  for (const cwd of ['inside', inside, 'way-in', './inside/', 'inside/.']) {
    const input = { prompt, cwd };
    const { data } = await server.call('spawn_rehearsal', input);
    expect(data.message).toContain(`${inside},`);
  }
});

test('a cwd that is gone when its turn comes is named in the error', async () => {
  const other = createTempWorkspace();
  const directory = dirname(other.write('short-lived/file', ''));
  const flags = ['--engines', 'rehearsal'];
  const env = { TROUPE_MAX_CONCURRENT: '1' };
  const queue = await startServer(other, { flags, env });
  const first = await queue.call('spawn_rehearsal', { prompt: 'hang' });
  const input = { prompt, cwd: directory };
  const { data } = await queue.call('spawn_rehearsal', input);
  expect(data.status).toBe('queued');
  rmSync(directory, { recursive: true });
  await queue.call('cancel_agent', { agent_id: first.data.agent_id });
  await queue.call('wait_for_agents', { agent_ids: [data.agent_id] });
  const ended = await queue.call('result', { agent_id: data.agent_id });
  expect(ended.data).toMatchObject({
    status: 'failed',
    error_code: 'spawn_failed',
    error: expect.stringContaining(`${directory} is gone`)
  });
  await queue.close();
  other.remove();
});

describe('an unknown id', () => {
  const ids = ['00000000', 'ABCDEF01', '../../etc', '.', 'a\0b', 'é', ' '];

  test.each(ids)('is data for result: %j', async (agent_id) => {
    const { isError, data } = await server.call('result', { agent_id });
    expect(isError).toBe(false);
    expect(data).toMatchObject({ agent_id, status: 'not_found' });
    expect(data.message).toContain('list');
  });

  test.each(ids)('is an error everywhere else: %j', async (agent_id) => {
    for (const [tool, input] of [
      ['cancel_agent', { agent_id }],
      ['continue_agent', { agent_id, prompt }],
      ['wait_for_agents', { agent_ids: [agent_id] }]
    ] as const)
      await expectRefused(tool, input, 'unknown_agent', agent_id);
  });

  test('is not repeated when it is as long as a book', async () => {
    for (const [tool, input] of [
      ['result', { agent_id: long }],
      ['cancel_agent', { agent_id: long }],
      ['continue_agent', { agent_id: long, prompt }],
      ['wait_for_agents', { agent_ids: [long] }]
    ] as const)
      await expectRefused(tool, input, 'invalid_input', 'agent_id');
  });
});

describe('other tools refuse', () => {
  test.each([
    ['list', { limit: 0 }, '"limit"'],
    ['list', { limit: 2.5 }, '"limit"'],
    ['list', { limit: '3' }, '"limit"'],
    ['list', { all: true }, '"all"'],
    ['result', {}, '"agent_id"'],
    ['result', { agent_id: 7 }, '"agent_id"'],
    ['result', { agent_id: '00000000', offset: -1 }, '"offset"'],
    ['result', { agent_id: '00000000', page: 2 }, '"page"'],
    ['wait_for_agents', { timeout: -1 }, '"timeout"'],
    ['wait_for_agents', { timeout: 1e12 }, '"timeout"'],
    ['wait_for_agents', { agent_ids: [] }, '"agent_ids"'],
    ['wait_for_agents', { agent_ids: '00000000' }, '"agent_ids"'],
    ['wait_for_agents', { agent_ids: [1, 2, 3, 4, 5, 6, 7] }, '2 more'],
    ['wait_for_agents', { mode: 'some' }, '"mode"'],
    ['cancel_agent', { agent_id: '00000000', force: true }, '"force"'],
    ['continue_agent', { agent_id: '00000000' }, '"prompt"']
  ])('%s with %j', async (tool, input, named) => {
    await expectRefused(tool, input, 'invalid_input', named);
  });

  test.each([
    ['not there', 'spawn_nobody'],
    ['of every object', 'constructor'],
    ['without a name', ''],
    ['with a name as long as a book', long]
  ])('a tool that is %s', async (_, tool) => {
    await expectRefused(tool, {}, 'unknown_tool', tool.slice(0, 20));
  });
});

test('input that is no protocol is answered or passed over, never fatal', async () => {
  await expect(request({ name: 'list', arguments: 'x' })).rejects.toThrow(
    /-32/
  );
  await expect(request({ name: 7 })).rejects.toThrow(/-32/);
  await expect(server.request('no/such/method')).rejects.toThrow('-32601');
  server.child.stdin?.write('not json\n{"jsonrpc":"2.0"}\n[]\n\n');
  await expectAlive();
});

test('what was refused was never started or written down', async () => {
  const before = readdirSync(join(workspace.record, 'spawns'));
  await expectRefused(
    'spawn_rehearsal',
    nul('model'),
    'invalid_input',
    'model'
  );
  await expectRefused(
    'spawn_rehearsal',
    { prompt, cwd: '..' },
    'cwd_outside',
    '..'
  );
  const after = readdirSync(join(workspace.record, 'spawns'));
  expect(after).toEqual(before);
});

test.each([
  'tools/list',
  'prompts/list',
  'resources/list',
  'resources/templates/list'
])('%s has one page: it is refused with a cursor', async (method) => {
  for (const cursor of ['garbage', '', long])
    await expect(server.request(method, { cursor })).rejects.toThrow(
      /^-32602: .{1,200}Ask without a cursor\.$/
    );
  await server.request(method);
});

function nul(name: string): Record<string, string> {
  return { prompt, [name]: 'a\0b' };
}

function request(params: Record<string, unknown>) {
  return server.request('tools/call', params);
}

async function expectRefused(
  tool: string,
  input: Record<string, unknown>,
  code: string,
  named: string
): Promise<void> {
  const answer = await server.call(tool, input);
  expectClear(answer, code);
  expect(String(answer.data.error)).toContain(named);
  await expectAlive();
}

/** A code, one short sentence, what to do next; the same in both places. */
function expectClear({ isError, data, text }: ToolResult, code: string): void {
  expect(isError, text.slice(0, 500)).toBe(true);
  expect(JSON.parse(text)).toEqual(data);
  expect(data.error_code).toBe(code);
  expect(String(data.error)).toMatch(/^[^\n]{10,2000}\.$/);
  expect(String(data.hint)).toMatch(/^[^\n]{10,1000}\.$/);
}

async function expectAlive(): Promise<void> {
  const { isError } = await server.call('list');
  expect(isError).toBe(false);
}
