import { afterEach, beforeEach, expect, test } from 'vitest';
import { z } from 'zod';
import { configSchema } from '../../../src/config/schema.ts';
import { runScript } from '../../kit/agents/own-script.ts';
import {
  blocksOf,
  documentAt,
  documents,
  firstColumn,
  sectionOf
} from '../../kit/judges/documents.ts';
import { runCommand } from '../../kit/servers/command-line.ts';
import { type McpClient, startServer } from '../../kit/servers/mcp-client.ts';
import { createdWorker } from '../../kit/servers/orchestrator-calls.ts';
import {
  createTempWorkspace,
  type TempWorkspace
} from '../../kit/workspaces/temp-workspace.ts';

let workspace: TempWorkspace;
let server: McpClient | undefined;

beforeEach(() => {
  workspace = createTempWorkspace();
  server = undefined;
});

afterEach(async () => {
  await server?.close();
  workspace.remove();
});

test('troupe.schema.json is what scripts/schema.mjs writes', async () => {
  const { code, stderr } = await runScript(workspace, 'schema.mjs', '--check');
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
});

test('every JSON example is JSON', () => {
  for (const document of documents())
    for (const block of blocksOf(document, 'json'))
      expect(
        () => JSON.parse(block),
        `${document.path}: ${block}`
      ).not.toThrow();
});

test('the server takes every configuration that the documents show', async () => {
  const [shout = ''] = blocksOf(documentAt('plugins/README.md'), 'js');
  workspace.write('engines/shout.mjs', shout);
  const known = Object.keys(configSchema().shape);
  const examples = documents()
    .flatMap((document) => blocksOf(document, 'json'))
    .filter((block) =>
      Object.keys(JSON.parse(block)).every((key) => known.includes(key))
    );
  expect(examples.length).toBeGreaterThanOrEqual(3);
  for (const example of examples) {
    const file = workspace.write('troupe.config.json', example);
    const flags = ['mcp', '--config', file, '--strict'];
    const { code, stderr } = await runCommand(workspace, flags);
    expect({ code, stderr }, example).toEqual({ code: 0, stderr: '' });
  }
});

const toolSchema = z.object({
  tools: z.array(
    z.object({
      name: z.string(),
      inputSchema: z.object({ properties: z.record(z.string(), z.unknown()) })
    })
  )
});

test('docs/guides/tools.md has every tool, and no other tool or parameter', async () => {
  workspace.write(
    'troupe.config.json',
    '{ "engines": { "rehearsal": true }, "orchestrator": { "backend": "process" } }'
  );
  server = await startServer(workspace, { flags: ['--toolsets', 'all'] });
  // answer_agent is listed once an agent may ask.
  await server.call('spawn_rehearsal', { prompt: 'x', ask: 'coordinator' });
  const all = [...(await toolsOf(server)), ...(await workersTools(server))];
  // It is on for the worker's sake.
  const tools = all.filter(({ name }) => name !== 'spawn_rehearsal');
  const document = documentAt('docs/guides/tools.md');
  const headings = [...document.text.matchAll(/^## (\S+)$/gm)].map(
    ([, heading]) => heading
  );
  const readme = documentAt('README.md').text;
  const parameters = new Map<string, string[]>();
  for (const { name, inputSchema } of tools) {
    const heading = name.startsWith('spawn_') ? 'spawn_engine' : name;
    const others = parameters.get(heading) ?? [];
    const named = Object.keys(inputSchema.properties);
    parameters.set(heading, [...others, ...named]);
    expect(readme).toContain(`\`${name}\``);
  }
  expect(headings.toSorted()).toEqual([...parameters.keys()].toSorted());
  for (const [name, named] of parameters) {
    const section = sectionOf(document, `## ${name}`);
    const table = /\| Parameter [\s\S]*?\n\n/.exec(section)?.[0] ?? '';
    expect(named, name).toEqual(expect.arrayContaining(firstColumn(table)));
  }
});

async function toolsOf(asked: McpClient) {
  return toolSchema.parse(await asked.request('tools/list')).tools;
}

/** The tools of a worker's own server. */
async function workersTools(master: McpClient) {
  const { agent_id } = await createdWorker(master, { engine: 'rehearsal' });
  const flags = ['--toolsets', 'worker', '--agent-id', agent_id];
  const own = await startServer(workspace, { flags });
  const tools = await toolsOf(own);
  await own.close();
  await master.call('agent_delete', { agent_id, force: true });
  return tools;
}
