import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { z } from 'zod';
import { clients } from '../../../src/cli/clients/clients.ts';
import { recordingsOf } from '../../kit/agents/recordings.ts';
import { standIn } from '../../kit/agents/stand-in.ts';
import { documentAt, fencedIn, sectionOf } from '../../kit/judges/documents.ts';
import { ShownTalk } from '../../kit/judges/shown-talk.ts';
import { runCommand } from '../../kit/servers/command-line.ts';
import { type McpClient, startServer } from '../../kit/servers/mcp-client.ts';
import {
  createTempWorkspace,
  type TempWorkspace
} from '../../kit/workspaces/temp-workspace.ts';

const readme = documentAt('README.md');
const enginesSchema = z.object({
  engines: z.array(z.object({ name: z.string() }))
});
const lines = readme.text.trimEnd().split('\n');

let workspace: TempWorkspace;
let server: McpClient;

/** Programs that say what the real ones once said. */
beforeAll(async () => {
  workspace = createTempWorkspace();
  for (const name of ['claude', 'codex'])
    standIn(workspace, name).says(
      recordingsOf(name).find((one) => one.case === 'success')?.stdout ?? ''
    );
  server = await startServer(workspace);
});

afterAll(async () => {
  expect(server.impurities).toEqual([]);
  await server.close();
  workspace.remove();
});

test.each([
  ['### Delegate', 2],
  ['### Ask for a second opinion', 1],
  ['### Start a squad', 1]
])('the calls of "%s" are answered as it shows', async (heading, n) => {
  const blocks = fencedIn(sectionOf(readme, heading));
  expect(await new ShownTalk(server).play(blocks)).toBe(n);
  const { data } = await server.call('wait_for_agents');
  const results = JSON.stringify(data.results ?? []);
  expect(results).not.toContain('"status":"failed"');
});

test('the first screen is short, and ends where the examples begin', () => {
  expect(lines.indexOf('## What your agent can do')).toBeLessThan(46);
  expect(lines.length).toBeLessThanOrEqual(220);
});

test('the two commands for a fresh machine are there', () => {
  const [block = ''] = fencedIn(sectionOf(readme, '## Start')).map(
    ({ body }) => body
  );
  const { scripts } = JSON.parse(
    readFileSync(join(import.meta.dirname, '../../../package.json'), 'utf8')
  );
  for (const name of ['demo', 'test']) {
    expect(block).toMatch(new RegExp(`^npm ci && npm (run )?${name}\\b`, 'm'));
    expect(scripts).toHaveProperty(name);
  }
});

test('the start names every client that init knows, and no other', () => {
  const told = /^The clients are (.*?)\./m.exec(readme.text)?.[1] ?? '';
  const names = [...told.matchAll(/`([^`]+)`/g)].map(([, name]) => name);
  expect(names).toEqual(clients.map(({ name }) => name));
});

test('the table of engines has every one that there is', async () => {
  const { stdout } = await runCommand(workspace, ['engines', '--json']);
  const { engines } = enginesSchema.parse(JSON.parse(stdout));
  const section = sectionOf(readme, '## Engines');
  expect(engines.length).toBeGreaterThanOrEqual(8);
  for (const { name } of engines) expect(section).toContain(`\`${name}\``);
});
