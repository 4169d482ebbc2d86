import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  apiSource,
  programSource,
  writeSpeaker,
  wrongApis,
  wrongPrograms
} from '../../kit/agents/wrong-plugins.ts';
import { runCommand } from '../../kit/servers/command-line.ts';
import { type McpClient, startServer } from '../../kit/servers/mcp-client.ts';
import {
  createTempWorkspace,
  type TempWorkspace
} from '../../kit/workspaces/temp-workspace.ts';

let workspace: TempWorkspace;
let server: McpClient;

const meddling = `args(request) { request.prompt = 'other'; return []; },
  stdin: (request) => request.prompt,
  read(reply, event) {
    reply.text = event.type;
    reply.finished = true;
    return Object.freeze(reply);
  }`;
const printing =
  'async () => { console.log("{}"); return { text: "printed", finished: true }; }';

/** Every plugin a file of its own, but for one in the configuration itself. */
beforeAll(async () => {
  workspace = createTempWorkspace();
  writeSpeaker(workspace);
  const sources = [
    ...wrongPrograms.map(([name, member, code]) => [
      name,
      programSource(name, `${member}: ${code}`)
    ]),
    ...wrongApis.map(([name, code]) => [name, apiSource(name, code)]),
    ['meddler', programSource('meddler', meddling)],
    ['printer', apiSource('printer', printing)]
  ];
  for (const [name, source] of sources)
    workspace.write(`engines/${name}.mjs`, `export default ${source};`);
  const files = sources.map(([name]) => `./engines/${name}.mjs`);
  const inline = apiSource('inline', 'async () => { process.exit(0); }');
  workspace.write(
    'troupe.config.mjs',
    `export default { plugins: [...${JSON.stringify(files)}, ${inline}] };`
  );
  server = await startServer(workspace);
});

afterAll(async () => {
  expect(server.impurities).toEqual([]);
  expect(server.stderr).not.toMatch(/bug|unexpectedly|left out|^\s+at /m);
  await server.close();
  workspace.remove();
});

async function endOf(engine: string): Promise<Record<string, unknown>> {
  const tool = `spawn_${engine.replaceAll('-', '_')}`;
  const { isError, data } = await server.call(tool, { prompt: 'the prompt' });
  expect({ isError, data }).toMatchObject({ isError: false });
  const agent_id = String(data.agent_id);
  await server.call('wait_for_agents', { agent_ids: [agent_id], timeout: 45 });
  return (await server.call('result', { agent_id })).data;
}

describe('a failed agent that names plugin and member comes of', () => {
  test.each(wrongPrograms)(
    '%s: %s: %s',
    async (name, member, _, code, words) => {
      const { status, error_code, error } = await endOf(name);
      expect({ status, error_code, error }).toEqual({
        status: 'failed',
        error_code: code,
        error: expect.stringContaining(
          `The plugin ${name} is at fault: ${member}`
        )
      });
      expect(error).toMatch(words);
    }
  );
});

describe('of an API, a failed agent that names the plugin comes of', () => {
  test.each(wrongApis)('%s: %s', async (name, _, code, words) => {
    const { status, error_code, error } = await endOf(name);
    expect({ status, error_code, error }).toEqual({
      status: 'failed',
      error_code: code,
      error: expect.stringMatching(words)
    });
    expect(String(error).toLowerCase()).toContain(name);
  });
});

test('an API plugin that ends its process is a failed agent', async () => {
  expect(await endOf('inline')).toMatchObject({
    status: 'failed',
    error_code: 'bad_output',
    error: 'The plugin inline is at fault: generate ended without an answer.'
  });
});

test('what a plugin changes in what it is given stays its own', async () => {
  const { status, result } = await endOf('meddler');
  expect({ status, result }).toEqual({ status: 'completed', result: 'last' });
});

test('what an API plugin prints is no part of its answer', async () => {
  const { status, result } = await endOf('printer');
  expect({ status, result }).toEqual({
    status: 'completed',
    result: 'printed'
  });
});

test('doctor reports a plugin at fault and goes on', async () => {
  const { stdout } = await runCommand(workspace, ['doctor', '--json']);
  const { engines } = JSON.parse(stdout);
  const found = engines.find(
    ({ name }: { name: string }) => name === 'env-throws'
  );
  expect(found).toMatchObject({
    ready: false,
    next: expect.stringContaining('env-throws is at fault: env.set threw: boom')
  });
});
