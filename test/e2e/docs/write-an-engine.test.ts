import { createServer, type IncomingHttpHeaders } from 'node:http';
import { text as readAll } from 'node:stream/consumers';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { blocksOf, documentAt } from '../../kit/judges/documents.ts';
import { type McpClient, startServer } from '../../kit/servers/mcp-client.ts';
import {
  createTempWorkspace,
  type TempWorkspace
} from '../../kit/workspaces/temp-workspace.ts';

const blocks = blocksOf(documentAt('plugins/README.md'), 'js').filter((block) =>
  block.includes('export default')
);

let workspace: TempWorkspace;
let server: McpClient;

beforeEach(() => {
  workspace = createTempWorkspace();
});

afterEach(async () => {
  await server.close();
  workspace.remove();
});

/** The engines of plugins/README.md, copied as a reader would. */
async function start(
  engines: Record<string, object> = {},
  env: Record<string, string> = {}
) {
  const plugins = blocks.map((block, index) => {
    workspace.write(`engines/${index}.mjs`, block);
    return `./engines/${index}.mjs`;
  });
  workspace.write('troupe.config.json', JSON.stringify({ plugins, engines }));
  server = await startServer(workspace, { flags: ['--strict'], env });
}

async function ended(agent_id: unknown) {
  await server.call('wait_for_agents', { agent_ids: [agent_id] });
  return (await server.call('result', { agent_id })).data;
}

async function run(tool: string, more: Record<string, unknown> = {}) {
  const input = { prompt: 'hello there', ...more };
  const { data } = await server.call(tool, input);
  return ended(data.agent_id);
}

test('its first engine has seven lines and does what the page says', async () => {
  expect(blocks[0]?.trim().split('\n')).toHaveLength(7);
  await start();
  expect(await run('spawn_shout')).toMatchObject({
    status: 'completed',
    result: 'HELLO THERE'
  });
});

test('a model and a system prompt go where it says', async () => {
  workspace.program(
    'llm',
    "process.stdin.on('data', (text) => console.log(process.argv.slice(2).join(' '), '|', String(text)));"
  );
  await start();
  const input = { model: 'mini', system_prompt: 'Be brief.' };
  expect(await run('spawn_llm', input)).toMatchObject({
    status: 'completed',
    result: '-m gpt-5-mini -s Be brief. | hello there'
  });
});

test('its reader finds the answer, the session and the failure', async () => {
  const print = (event: object) =>
    `console.log(${JSON.stringify(JSON.stringify(event))});`;
  const session = print({ type: 'session', id: 's-1' });
  const done = print({ type: 'done', text: 'It is done.' });
  workspace.program('my-agent', `${session} ${done}`);
  await start();
  expect(await run('spawn_my_agent', { access: 'read' })).toMatchObject({
    status: 'completed',
    result: 'It is done.',
    session_id: 's-1'
  });
  workspace.program('my-agent', session);
  expect(await run('spawn_my_agent')).toMatchObject({
    status: 'failed',
    error_code: 'bad_output'
  });
  const error = print({ type: 'error', message: 'Out of order' });
  workspace.program('my-agent', `${session} ${error} ${done}`);
  expect(await run('spawn_my_agent')).toMatchObject({
    status: 'failed',
    error: 'Out of order'
  });
});

test('its API engine streams where the server does', async () => {
  const event = (choice: object, usage: object | null = null) =>
    `data: ${JSON.stringify({ choices: [choice], usage })}\n\n`;
  const said = ['Half', ' ünd half.'].map((content) =>
    event({ delta: { content }, finish_reason: null })
  );
  const usage = { prompt_tokens: 7, completion_tokens: 3, total_tokens: 10 };
  const end = event({ delta: {}, finish_reason: 'stop' }, usage);
  const whole = Buffer.from(`${said.join('')}${end}data: [DONE]\n\n`);
  let length = whole.length;
  const model = createServer((_, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    // In single bytes, so that lines and characters come in pieces.
    for (const byte of whole.subarray(0, length))
      response.write(Buffer.of(byte));
    response.end();
  });
  await new Promise<void>((resolve) => model.listen(0, '127.0.0.1', resolve));
  try {
    const address = model.address();
    const port = typeof address === 'object' ? address?.port : 0;
    const baseUrl = `http://127.0.0.1:${port}/v1`;
    const key = { HOUSE_MODEL_KEY: 'sesame' };
    await start({ 'house-model': { baseUrl } }, key);
    expect(await run('spawn_house_model')).toMatchObject({
      status: 'completed',
      result: 'Half ünd half.',
      usage
    });
    length -= Buffer.byteLength(end) + 'data: [DONE]\n\n'.length;
    expect(await run('spawn_house_model')).toMatchObject({
      status: 'failed',
      error_code: 'bad_output',
      result: 'Half ünd half.'
    });
  } finally {
    model.close();
    model.closeAllConnections();
  }
});

test('its API engine is asked with key, turns and system prompt', async () => {
  const asked: { headers: IncomingHttpHeaders; body: unknown }[] = [];
  let finish_reason = 'stop';
  let status = 200;
  const model = createServer(async (request, response) => {
    const body: unknown = JSON.parse(await readAll(request));
    asked.push({ headers: request.headers, body });
    const message = { role: 'assistant', content: `answer ${asked.length}` };
    const usage = { prompt_tokens: 7, completion_tokens: 3, total_tokens: 10 };
    const choices = [{ message, finish_reason }];
    response.writeHead(status, { 'content-type': 'application/json' });
    response.end(JSON.stringify({ choices, usage }));
  });
  await new Promise<void>((resolve) => model.listen(0, '127.0.0.1', resolve));
  try {
    const address = model.address();
    const port = typeof address === 'object' ? address?.port : 0;
    const baseUrl = `http://127.0.0.1:${port}/v1`;
    const key = { HOUSE_MODEL_KEY: 'sesame' };
    await start({ 'house-model': { baseUrl } }, key);
    const first = await run('spawn_house_model', {
      system_prompt: 'Be brief.'
    });
    expect(first).toMatchObject({
      status: 'completed',
      result: 'answer 1',
      model: 'llama3.2',
      usage: { prompt_tokens: 7, completion_tokens: 3, total_tokens: 10 }
    });
    const next = { agent_id: first.agent_id, prompt: 'Go on' };
    const { data } = await server.call('continue_agent', next);
    expect(await ended(data.agent_id)).toMatchObject({ result: 'answer 2' });
    expect(asked[0]?.headers.authorization).toBe('Bearer sesame');
    expect(asked[1]?.body).toMatchObject({
      model: 'llama3.2',
      messages: expect.arrayContaining([
        { role: 'user', content: 'hello there' },
        { role: 'assistant', content: 'answer 1' },
        { role: 'user', content: 'Go on' }
      ])
    });
    finish_reason = 'length';
    expect(await run('spawn_house_model')).toMatchObject({ status: 'failed' });
    status = 401;
    expect(await run('spawn_house_model')).toMatchObject({
      status: 'failed',
      error_code: 'auth'
    });
  } finally {
    model.close();
    model.closeAllConnections();
  }
});
