import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { McpClient, ServerOptions } from '../../kit/servers/mcp-client.ts';
import {
  type ApiWorkspace,
  createApiWorkspace,
  ended,
  spawnApi
} from '../../kit/workspaces/api-workspace.ts';
import { apiEngines } from '../../provider-fake/asked.ts';

let workspace: ApiWorkspace;

beforeEach(async () => {
  workspace = await createApiWorkspace();
});

afterEach(() => workspace.close());

/** The key that a provider is sent; its engine is asked once. */
async function sentKey(
  engine: 'grok' | 'gemini' | 'mistral',
  options: ServerOptions = {}
): Promise<string | undefined> {
  const server = await workspace.start(options);
  await ended(server, await spawnApi(server, engine, 'Which key?'));
  return workspace.fakes[engine].requests.at(-1)?.key;
}

async function toolsOf(server: McpClient): Promise<string[]> {
  const { tools } = await server.request('tools/list');
  return Array.isArray(tools) ? tools.map(({ name }) => String(name)) : [];
}

describe('a key is taken', () => {
  test('from api_keys.json before the environment', async () => {
    const env = { XAI_API_KEY: 'key-of-environment' };
    expect(await sentKey('grok', { env })).toBe('test-key-of-grok');
  });

  test.each([
    ['grok', ['XAI_API_KEY', 'GROK_API_KEY', 'X_API_KEY']],
    ['gemini', ['GEMINI_API_KEY', 'GOOGLE_API_KEY', 'GOOGLE_AI_KEY']],
    ['mistral', ['MISTRAL_API_KEY']]
  ] as const)(
    'under the names of %s, in their order',
    async (engine, names) => {
      for (const first of names.keys()) {
        const values = names.map((name, place) => [
          name,
          place < first ? '' : `key-${place}`
        ]);
        const keys = Object.fromEntries(values);
        workspace.keys(keys);
        expect(await sentKey(engine)).toBe(`key-${first}`);
        workspace.keys({});
        expect(await sentKey(engine, { env: keys })).toBe(`key-${first}`);
      }
    }
  );

  test('from the environment when the file has an empty one', async () => {
    workspace.keys({ XAI_API_KEY: '', GROK_API_KEY: '  ' });
    const env = { X_API_KEY: ' key-of-environment\n' };
    expect(await sentKey('grok', { env })).toBe('key-of-environment');
  });

  test('from the directory of the configuration file', async () => {
    workspace.keys({});
    const directory = join(workspace.home, 'shared');
    mkdirSync(directory);
    const config = join(directory, 'troupe.config.json');
    const baseUrl = workspace.fakes.grok.url;
    writeFileSync(config, JSON.stringify({ engines: { grok: { baseUrl } } }));
    writeFileSync(
      join(directory, 'api_keys.json'),
      '\uFEFF{"XAI_API_KEY": "key-beside"}',
      { mode: 0o600 }
    );
    const flags = ['--config', config];
    expect(await sentKey('grok', { flags })).toBe('key-beside');
  });

  test('from a file that comes while the server runs', async () => {
    workspace.keys({});
    const server = await workspace.start();
    const { data } = await server.call('spawn_grok', { prompt: 'Hi' });
    expect(data.error_code).toBe('not_logged_in');
    workspace.keys({ XAI_API_KEY: workspace.fakes.grok.key });
    const id = await spawnApi(server, 'grok', 'Hi');
    expect(await ended(server, id)).toMatchObject({ status: 'completed' });
  });
});

test('without a key an agent has failed at once, and says what to do', async () => {
  workspace.keys({ MISTRAL_API_KEY: workspace.fakes.mistral.key });
  const server = await workspace.start();
  const { data, isError } = await server.call('spawn_gemini', { prompt: 'Hi' });
  expect(isError).toBe(false);
  expect(data).toMatchObject({
    status: 'failed',
    error_code: 'not_logged_in',
    ready_engines: ['mistral']
  });
  expect(data.error).toBe(
    'Gemini has no key: none of GEMINI_API_KEY, GOOGLE_API_KEY, GOOGLE_AI_KEY is in api_keys.json or in the environment. Get one at https://aistudio.google.com/apikey.'
  );
  const told = await ended(server, String(data.agent_id));
  expect(told).toMatchObject({ status: 'failed', error: data.error });
  expect(workspace.fakes.gemini.requests).toEqual([]);
});

describe('a key file', () => {
  test('that other users can read is warned of once', async () => {
    chmodSync(join(workspace.path, 'api_keys.json'), 0o644);
    const server = await workspace.start();
    for (const prompt of ['One', 'Two'])
      await ended(server, await spawnApi(server, 'grok', prompt));
    const warnings = server.stderr.match(/can be read by others.*/g);
    expect(warnings).toEqual([
      `can be read by others (mode 644). Run: chmod 600 "${workspace.path}/api_keys.json"`
    ]);
  });

  test.each([
    ['is not JSON', '{"XAI_API_KEY": "half-a-key', 'it is not valid JSON'],
    ['holds a list', '["half-a-key"]', 'it is not a JSON object'],
    [
      'holds another kind of value',
      '{"XAI_API_KEY": ["half-a-key"]}',
      'the value of "XAI_API_KEY" is not text'
    ]
  ])('that %s is reported without its content', async (_how, text, said) => {
    workspace.write('api_keys.json', text);
    const server = await workspace.start();
    const { data } = await server.call('spawn_grok', { prompt: 'Hi' });
    expect(data.error_code).toBe('not_logged_in');
    const lines = server.stderr.split('\n').filter(Boolean);
    expect(lines).toHaveLength(1);
    expect(lines[0]).toContain('api_keys.json');
    expect(lines[0]).toContain(said);
    expect(server.stderr).not.toContain('half-a-key');
  });
});

test('openai and claude-api are there with a key, or when they are named', async () => {
  const extra = ['spawn_openai', 'spawn_claude_api'];
  workspace.write('.trouperc.json', '{}');
  workspace.keys({ MISTRAL_API_KEY: 'one-of-mistral' });
  const without = await toolsOf(await workspace.start());
  expect(without).toContain('spawn_grok');
  expect(extra.filter((name) => without.includes(name))).toEqual([]);

  const env = { OPENAI_API_KEY: 'one-of-openai' };
  const withKey = await toolsOf(await workspace.start({ env }));
  expect(extra.filter((name) => withKey.includes(name))).toEqual([
    'spawn_openai'
  ]);

  const named = JSON.stringify({ engines: { 'claude-api': true } });
  workspace.write('.trouperc.json', named);
  const withName = await toolsOf(await workspace.start());
  expect(extra.filter((name) => withName.includes(name))).toEqual([
    'spawn_claude_api'
  ]);
});

test.each(apiEngines)('%s is described as text-only', async (engine) => {
  const server = await workspace.start();
  const { tools } = await server.request('tools/list');
  const tool = Array.isArray(tools)
    ? tools.find(({ name }) => name === `spawn_${engine.replace('-', '_')}`)
    : undefined;
  expect(tool.description).toContain('Text only: cannot read or change files.');
  expect(Object.keys(tool.inputSchema.properties)).toEqual([
    'prompt',
    'model',
    'timeout',
    'system_prompt',
    'request_id'
  ]);
});
