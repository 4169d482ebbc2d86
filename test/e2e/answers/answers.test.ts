import { readFileSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { visibleText } from '../../../src/core/text.ts';
import { recordingsOf } from '../../kit/agents/recordings.ts';
import { type StandIn, standIn } from '../../kit/agents/stand-in.ts';
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
let codex: StandIn;

beforeEach(() => {
  workspace = createTempWorkspace();
  codex = standIn(workspace, 'codex');
});

afterEach(async () => {
  expect(server.impurities).toEqual([]);
  await server.close();
  workspace.remove();
});

describe('a spawn is answered', () => {
  test('with what will happen and the next call', async () => {
    await start({ maxAccess: 'write' });
    const { data } = await spawn('codex', { prompt: 'x', access: 'full' });
    const { agent_id: id } = data;
    expect(id).toMatch(/^[0-9a-f]{8}$/);
    expect(data).toEqual({
      agent_id: id,
      agent_type: 'codex',
      model: 'default',
      status: 'running',
      message: expect.stringMatching(
        /^Codex runs with access write \(enforced by the engine/
      )
    });
    for (const words of [
      `in ${workspace.path}, timeout 300 s.`,
      `Next: wait_for_agents {"agent_ids":["${id}"]}`
    ])
      expect(data.message).toContain(words);
  });

  test('with a longer time limit for tests, and any that is given', async () => {
    const claude = standIn(workspace, 'claude');
    claude.says('');
    await start();
    const limitOf = async (input: Record<string, unknown>) =>
      String((await spawn('claude', input)).data.message);
    expect(await limitOf({ prompt: 'Tidy up' })).toContain('timeout 300 s');
    expect(await limitOf({ prompt: 'Run tests' })).toContain('timeout 600 s');
    expect(await limitOf({ timeout: 7 })).toContain('timeout 7 s');
  });

  test('at once when the engine is unknown, with the known ones', async () => {
    await start({ engines: { claude: { command: 'no-such-claude' } } });
    const { isError, data } = await spawn('claude');
    expect(isError).toBe(false);
    expect(data).toMatchObject({
      agent_type: 'claude',
      status: 'failed',
      error_code: 'not_installed',
      ready_engines: ['codex']
    });
    for (const words of [data.message, data.error])
      expect(words).toContain('npm install -g @anthropic-ai/claude-code');
    expect(await result(data)).toMatchObject({
      success: false,
      error_code: 'not_installed'
    });
    expect((await server.call('list')).data.completed_ids).toEqual([
      data.agent_id
    ]);
  });
});

describe('a result', () => {
  const keys = [
    ...['agent_id', 'agent_type', 'model', 'success', 'status', 'result'],
    ...['error', 'error_code', 'cost_usd', 'usage', 'duration_seconds'],
    ...['started_at', 'completed_at', 'session_id', 'full_output', 'source']
  ].sort();

  test('of a success has every field', async () => {
    const claude = standIn(workspace, 'claude');
    claude.says(recorded('claude', 'success').stdout);
    await start();
    const ended = await run('claude');
    expect(Object.keys(ended).sort()).toEqual(keys);
    expect(ended).toMatchObject({
      agent_type: 'claude',
      model: 'claude-sonnet-5-5',
      success: true,
      status: 'completed',
      result: 'All done.',
      error: null,
      error_code: null,
      cost_usd: expect.any(Number),
      usage: {
        prompt_tokens: expect.any(Number),
        completion_tokens: expect.any(Number),
        total_tokens: expect.any(Number)
      }
    });
    expect(Date.parse(String(ended.started_at))).not.toBeNaN();
    rmSync(expectKept(ended, 'All done.'));
    const { data } = await server.call('result', { agent_id: ended.agent_id });
    expect(data.result).toBe('All done.');
    expectKept(ended, 'All done.');
  });

  test('of a failure has them too, and says why', async () => {
    const { stdout, stderr, exitCode } = recorded('codex', 'status-401');
    codex.says(stdout, exitCode ?? 1, stderr);
    await start();
    const ended = await run('codex');
    expect(Object.keys(ended).sort()).toEqual(keys);
    expect(ended).toMatchObject({
      success: false,
      status: 'failed',
      result: '',
      error: expect.stringContaining('401'),
      error_code: 'auth',
      cost_usd: null
    });
  });

  test('of 5 MB is given back exactly, page by page', async () => {
    const words = 'plain é 한글 😀👩‍👩‍👧 "quoted"\\ \u2028\u0000\t\r\n';
    const text = words.repeat(Math.ceil(5e6 / Buffer.byteLength(words)));
    codex.says(answering(text));
    await start();
    let page = await run('codex');
    const agent_id = page.agent_id;
    expect(page.total_chars).toBe(text.length);
    expect(String(page.result).endsWith(text.slice(-1000))).toBe(true);
    const parts = [String(page.result).slice(0, Number(page.next_offset))];
    const { data } = await server.call('result', { agent_id, offset: 0 });
    expect(data.result).toBe(text.slice(0, Number(data.next_offset)));
    while (page.next_offset !== undefined) {
      const offset = page.next_offset;
      page = (await server.call('result', { agent_id, offset })).data;
      expect(page.truncated).toBe(true);
      expect(String(page.result).length).toBeLessThanOrEqual(20_000);
      expect(isWellFormed(String(page.result))).toBe(true);
      parts.push(String(page.result));
    }
    expect(parts.join('') === text).toBe(true);
    rmSync(expectKept(page, text));
    const gone = await server.call('result', { agent_id });
    expect(gone.data.message).toMatch(
      /result\.txt, which held the answer, is gone/
    );
  });

  test('shares the 20,000 characters with the rest of one answer', async () => {
    codex.says(answering('😀'.repeat(15_000)));
    await start();
    const ids = [];
    for (let n = 0; n < 3; n += 1)
      ids.push((await spawn('codex')).data.agent_id);
    const { data } = await server.call('wait_for_agents', { agent_ids: ids });
    const results = data.results as { result: string; next_offset: number }[];
    expect(results).toHaveLength(3);
    const lengths = results.map(({ result }) => result.length);
    expect(Math.min(...lengths)).toBeGreaterThan(6000);
    const total = lengths.reduce((sum, one) => sum + one);
    expect(total).toBeLessThanOrEqual(20_000);
    for (const one of results) {
      expect(isWellFormed(one.result)).toBe(true);
      expect(one.next_offset).toBeGreaterThan(3000);
    }
  });
});

describe("a third party's engine", () => {
  const plugin = `export default { kind: 'cli', name: 'x-y',
    description: 'Says what it is told.', command: 'x-y',
    args: ({ access }) => ['--access', access] };`;

  test('appears as spawn_x_y and works, with every byte kept', async () => {
    workspace.write('engines/x-y.mjs', plugin);
    const bytes = Buffer.from('a\xff\xfe\x80b é\x1b[31m\r\n', 'latin1');
    const program = standIn(workspace, 'x-y');
    program.says(bytes);
    await start({ plugins: ['./engines/x-y.mjs'] });
    const { tools } = await server.request('tools/list');
    expect(JSON.stringify(tools)).toContain('"spawn_x_y"');
    const { data } = await spawn('x_y', { access: 'read' });
    expect(data.message).toContain('only asked for, not enforced');
    const ended = await result(data);
    expect(program.seen().argv).toEqual(['--access', 'read']);
    expect(ended).toMatchObject({ agent_type: 'x-y', status: 'completed' });
    expect(ended.result).toContain('a\ufffd\ufffd\ufffdb');
    const folder = dirname(expectKept(ended, bytes.subarray(0, -2)));
    expect(readFileSync(join(folder, 'stdout')).equals(bytes)).toBe(true);
  });
});

/** Returns its file in the record; the page that it names shows it, too. */
function expectKept(
  { agent_id, full_output }: Record<string, unknown>,
  answer: string | Buffer
): string {
  const file = join(workspace.record, `spawns/${agent_id}/result.txt`);
  expect(readFileSync(file).equals(Buffer.from(answer))).toBe(true);
  const page = join(workspace.paths.views.agents, `${agent_id}.md`);
  expect(full_output).toBe(page);
  const shown = `\n${visibleText(String(answer))}\n\`\`\`\n`;
  expect(readFileSync(page, 'utf8').includes(shown)).toBe(true);
  return file;
}

async function start(config: Record<string, unknown> = {}): Promise<void> {
  workspace.write('troupe.config.json', JSON.stringify(config));
  server = await startServer(workspace);
}

function spawn(tool: string, input: Record<string, unknown> = {}) {
  return server.call(`spawn_${tool}`, { prompt: 'Say hi', ...input });
}

async function result({ agent_id }: ToolResult['data']) {
  await server.call('wait_for_agents', { agent_ids: [agent_id], timeout: 30 });
  return (await server.call('result', { agent_id })).data;
}

async function run(tool: string) {
  return result((await spawn(tool)).data);
}

function recorded(engine: string, name: string) {
  const found = recordingsOf(engine).find((one) => one.case === name);
  if (!found) throw new Error(`No recording ${engine}/${name}`);
  return found;
}

/** What Codex puts out for an answer. */
function answering(text: string): string {
  return [
    { type: 'thread.started', thread_id: 'thread' },
    { type: 'item.completed', item: { type: 'agent_message', text } },
    { type: 'turn.completed', usage: { input_tokens: 1, output_tokens: 1 } }
  ]
    .map((event) => `${JSON.stringify(event)}\n`)
    .join('');
}

/** No half of a character: strict clients refuse a whole answer for one. */
function isWellFormed(text: string): boolean {
  return Buffer.from(text).toString() === text;
}
