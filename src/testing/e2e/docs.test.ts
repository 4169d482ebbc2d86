import { execFile } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { z } from 'zod';
import { mcpFlags } from '../../cli/commands/mcp.ts';
import { configSchema } from '../../config.ts';
import { hostErrorCodes } from '../../core/errors.ts';
import { statePathVariable } from '../../council-config.ts';
import { rolesVariable, squadVariables } from '../../squad-config.ts';
import { runCommand } from '../command-line.ts';
import {
  blocksOf,
  brokenLinks,
  documentAt,
  documents,
  firstColumn,
  packageRoot,
  sectionOf
} from '../documents.ts';
import { type McpClient, startServer, testEnvironment } from '../mcp-client.ts';
import { createdWorker } from '../orchestrator-calls.ts';
import { createTempWorkspace, type TempWorkspace } from '../temp-workspace.ts';

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

/** A script of ours: an empty HOME, the system's PATH, a TMPDIR of its own. */
function runScript(name: string, ...args: string[]) {
  const env = testEnvironment(workspace, { TMPDIR: workspace.path });
  return new Promise<{ code: number; stdout: string; stderr: string }>(
    (resolve) => {
      execFile(
        process.execPath,
        [join(packageRoot, 'scripts', name), ...args],
        { env, cwd: workspace.home },
        (error, stdout, stderr) =>
          resolve({ code: Number(error?.code ?? 0), stdout, stderr })
      );
    }
  );
}

test('troupe.schema.json is what scripts/schema.mjs writes', async () => {
  const { code, stderr } = await runScript('schema.mjs', '--check');
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
});

test('the demo works without HOME, network and engines, and cleans up', async () => {
  const { code, stdout, stderr } = await runScript('demo.mjs', '--rehearsal');
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  for (const said of [
    '$ node dist/troupe.cjs mcp',
    'completed: (refused to write notes.md: access is read)',
    'failed (rate_limited): the provider asks to wait',
    '### 🤖 Which job in notes.md comes first?\n- [x] ✅ **Done**',
    '"mcpServers"'
  ])
    expect(stdout).toContain(said);
  // How many still run when it looks depends on the machine.
  expect(stdout).toMatch(/[123] running, 0 queued/);
  expect(readdirSync(workspace.path)).toEqual([]);
});

test('the demo says why it does not use an engine', async () => {
  workspace.program('codex', 'process.exit(3)');
  const { code, stdout } = await runScript('demo.mjs');
  expect(code).toBe(0);
  expect(stdout).toContain('claude       is not installed: skipped');
  expect(stdout).toContain(
    'codex        is installed, but does not answer: skipped'
  );
  expect(stdout).toContain('used, as no other engine is ready');
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
  const known = Object.keys(configSchema.shape);
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

test('relative links lead to a file and a heading', () => {
  const broken = documents().flatMap((document) =>
    brokenLinks(document).map((link) => `${document.path}: ${link}`)
  );
  expect(broken).toEqual([]);
});

const ofFiles = ['cwd', 'access', 'isolate'];

const toolSchema = z.object({
  tools: z.array(
    z.object({
      name: z.string(),
      inputSchema: z.object({ properties: z.record(z.string(), z.unknown()) })
    })
  )
});

test('docs/tools.md has every tool with every parameter, and no other', async () => {
  workspace.write(
    'troupe.config.json',
    '{ "engines": { "rehearsal": true }, "orchestrator": { "backend": "process" } }'
  );
  server = await startServer(workspace, { flags: ['--toolsets', 'all'] });
  const all = [...(await toolsOf(server)), ...(await workersTools(server))];
  // It is on for the worker's sake.
  const tools = all.filter(({ name }) => name !== 'spawn_rehearsal');
  const document = documentAt('docs/tools.md');
  const headings = [...document.text.matchAll(/^## (\S+)$/gm)].map(
    ([, heading]) => heading
  );
  const served = new Set(
    tools.map(({ name }) => (name.startsWith('spawn_') ? 'spawn_engine' : name))
  );
  expect(headings.toSorted()).toEqual([...served].toSorted());
  const readme = documentAt('README.md').text;
  for (const { name, inputSchema } of tools) {
    const heading = name.startsWith('spawn_') ? 'spawn_engine' : name;
    const [table = ''] = sectionOf(document, `## ${heading}`).split('```');
    const parameters = /\| Parameter [\s\S]*?\n\n/.exec(table)?.[0] ?? '';
    const named = Object.keys(inputSchema.properties);
    const listed = firstColumn(parameters).filter(
      // APIs see no files.
      (parameter) => named.includes('cwd') || !ofFiles.includes(parameter)
    );
    expect(listed.toSorted(), name).toEqual(named.toSorted());
    expect(readme).toContain(`\`${name}\``);
  }
});

async function toolsOf(asked: McpClient) {
  return toolSchema.parse(await asked.request('tools/list')).tools;
}

/** Those of a worker's own server. */
async function workersTools(master: McpClient) {
  const { agent_id } = await createdWorker(master, { engine: 'rehearsal' });
  const flags = ['--toolsets', 'worker', '--agent-id', agent_id];
  const own = await startServer(workspace, { flags });
  const tools = await toolsOf(own);
  await own.close();
  await master.call('agent_delete', { agent_id, force: true });
  return tools;
}

test('docs/tools.md names only error codes that there are', () => {
  const lines = documentAt('docs/tools.md').text.match(/^Errors: .*$/gm) ?? [];
  const codes = lines.join(' ').match(/(?<=`)[a-z_]+(?=`)/g) ?? [];
  expect(lines.length).toBeGreaterThan(3);
  for (const code of codes) expect(hostErrorCodes).toContain(code);
});

test('docs/configuration.md has every key, variable and flag, and no other', () => {
  const document = documentAt('docs/configuration.md');
  const listed = (heading: string) =>
    firstColumn(sectionOf(document, heading)).toSorted();
  const schema = JSON.parse(
    readFileSync(join(packageRoot, 'troupe.schema.json'), 'utf8')
  );
  const { engines, iac, squad, council, orchestrator, ...others } =
    schema.properties;
  const [, settings] = engines.additionalProperties.anyOf;
  expect(
    firstColumn(between(document.text, '## Keys', '### ')).toSorted()
  ).toEqual(
    [
      'engines',
      'squad',
      'council',
      'orchestrator',
      ...Object.keys(others),
      ...Object.keys(iac.properties).map((key) => `iac.${key}`)
    ].toSorted()
  );
  expect(listed('### Settings of an engine')).toEqual(
    Object.keys(settings.properties).toSorted()
  );
  expect(listed('### Settings of squads')).toEqual(
    Object.keys(squad.properties).toSorted()
  );
  expect(listed('### Settings of councils')).toEqual(
    Object.keys(council.properties).toSorted()
  );
  expect(listed('### Settings of workers')).toEqual(
    Object.keys(orchestrator.properties).toSorted()
  );
  expect(
    listed('## Flags of `troupe mcp`').map((flag) => flag.split(' ')[0])
  ).toEqual(
    Object.keys(mcpFlags)
      .map((flag) => `--${flag}`)
      .toSorted()
  );
  const read = ['src/config.ts', 'src/config-overrides.ts'].flatMap(
    (file) =>
      readFileSync(join(packageRoot, file), 'utf8').match(
        /(?<=environment\.|')[A-Z]+_[A-Z_]+/g
      ) ?? []
  );
  const ofSquads = [...Object.values(squadVariables), rolesVariable];
  expect(listed('## Environment variables')).toEqual(
    [...new Set([...read, ...ofSquads, statePathVariable])].toSorted()
  );
});

function between(text: string, from: string, to: string): string {
  const rest = text.slice(text.indexOf(from) + from.length);
  return rest.slice(0, rest.indexOf(to));
}
