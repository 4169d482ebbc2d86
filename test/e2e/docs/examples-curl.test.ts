import { spawnSync } from 'node:child_process';
import { cpSync, readFileSync } from 'node:fs';
import {
  createServer,
  type IncomingMessage,
  type ServerResponse
} from 'node:http';
import { join } from 'node:path';
import { text as readAll } from 'node:stream/consumers';
import { afterEach, beforeEach, expect } from 'vitest';
import { packageRoot } from '../../kit/judges/documents.ts';
import { type McpClient, startServer } from '../../kit/servers/mcp-client.ts';
import { needing } from '../../kit/workspaces/needs.ts';
import {
  createTempWorkspace,
  type TempWorkspace
} from '../../kit/workspaces/temp-workspace.ts';

const example = join(packageRoot, 'examples', 'curl-model');
// Older ones refuse the flag.
const curl = spawnSync('curl', ['--fail-with-body', '--version']);
const testCurl = needing('curl 7.76', curl.status === 0);

let workspace: TempWorkspace;
let server: McpClient;
const seen: { url: string; body: unknown; key: string | undefined }[] = [];
let reply: { status: number; body: string };

async function serve(
  request: IncomingMessage,
  response: ServerResponse
): Promise<void> {
  const body: unknown = JSON.parse(await readAll(request));
  const { authorization: key } = request.headers;
  seen.push({ url: request.url ?? '', body, key });
  response.writeHead(reply.status, { 'content-type': 'application/json' });
  response.end(reply.body);
}

const model = createServer((request, response) => {
  serve(request, response).catch(() => response.destroy());
});

beforeEach(async () => {
  seen.length = 0;
  workspace = createTempWorkspace();
  await new Promise<void>((resolve) => {
    model.listen(0, '127.0.0.1', resolve);
  });
  const address = model.address();
  const port = typeof address === 'object' ? address?.port : 0;
  await startAt(`http://127.0.0.1:${port}/v1`);
});

afterEach(async () => {
  await server.close();
  expect(server.impurities).toEqual([]);
  workspace.remove();
  model.close();
  model.closeAllConnections();
});

/** Its own configuration, with the address of our server. */
async function startAt(baseUrl: string) {
  const config = 'troupe.config.json';
  const own = JSON.parse(readFileSync(join(example, config), 'utf8'));
  cpSync(example, workspace.path, { recursive: true });
  const engines = {
    'curl-model': { baseUrl, env: { CURL_HOME: workspace.home } }
  };
  workspace.write(config, JSON.stringify({ ...own, engines }));
  server = await startServer(workspace, {
    flags: ['--strict'],
    env: { http_proxy: 'http://127.0.0.1:9' }
  });
}

async function run(more: Record<string, unknown> = {}) {
  const input = { prompt: 'Say hi', ...more };
  const { data } = await server.call('spawn_curl_model', input);
  const { agent_id } = data;
  await server.call('wait_for_agents', { agent_ids: [agent_id] });
  return (await server.call('result', { agent_id })).data;
}

function says(content: string, finish_reason = 'stop') {
  const message = { role: 'assistant', content };
  const usage = { prompt_tokens: 7, completion_tokens: 3, total_tokens: 10 };
  const choices = [{ index: 0, message, finish_reason }];
  const body = JSON.stringify({ model: 'llama3.2:3b', choices, usage });
  reply = { status: 200, body };
}

testCurl('posts the prompt and gives the answer', async () => {
  says('Grüße 😀\nfrom "here"');
  const prompt = `${'"quoted" \\ \u2028 é\n'.repeat(20_000)}end`;
  expect(await run({ prompt, system_prompt: 'Be brief.' })).toMatchObject({
    status: 'completed',
    result: 'Grüße 😀\nfrom "here"',
    model: 'llama3.2:3b',
    usage: { prompt_tokens: 7, completion_tokens: 3, total_tokens: 10 }
  });
  const messages = [
    { role: 'system', content: 'Be brief.' },
    { role: 'user', content: prompt }
  ];
  const body = { model: 'llama3.2', stream: false, messages };
  expect(seen).toEqual([{ url: '/v1/chat/completions', body, key: undefined }]);
});

testCurl('takes a key from a file that only curl reads', async () => {
  says('ok');
  workspace.write(
    '../home/.curlrc',
    'header = "Authorization: Bearer sesame"\n'
  );
  expect(await run()).toMatchObject({ status: 'completed' });
  expect(seen[0]?.key).toBe('Bearer sesame');
});

for (const [status, body, error_code] of [
  [500, '{"error":{"message":"out of memory"}}', 'provider_error'],
  [401, '{"error":{"message":"no key","code":401}}', 'auth'],
  [404, '{"error":"model \\"x\\" not found"}', 'model_not_found'],
  [429, 'slow down', 'rate_limited'],
  [200, '<html>a proxy says hello</html>', 'bad_output'],
  [200, '{"choices":[]}', 'bad_output'],
  [200, '{"choices":[{"message":{"content":"Half"', 'bad_output']
] as const)
  testCurl(`an answer ${status} ${body} is a failure`, async () => {
    reply = { status, body };
    const data = await run();
    expect(data).toMatchObject({ status: 'failed', error_code });
  });

testCurl('an answer that was cut off, or refused, is a failure', async () => {
  says('Half an ans', 'length');
  expect(await run()).toMatchObject({
    error_code: 'output_limit'
  });
  says('', 'content_filter');
  expect(await run()).toMatchObject({
    error_code: 'content_refused'
  });
});

testCurl('a server that is not there is a matter of the network', async () => {
  model.close();
  expect(await run()).toMatchObject({
    status: 'failed',
    error_code: 'network'
  });
});
