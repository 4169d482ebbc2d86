import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { z } from 'zod';
import {
  blocksOf,
  documentAt,
  fencedIn,
  rowsIn,
  sectionOf
} from '../../kit/judges/documents.ts';
import { ShownTalk } from '../../kit/judges/shown-talk.ts';
import { runCommand } from '../../kit/servers/command-line.ts';
import { type McpClient, startServer } from '../../kit/servers/mcp-client.ts';
import {
  createTempWorkspace,
  type TempWorkspace
} from '../../kit/workspaces/temp-workspace.ts';

const concepts = documentAt('docs/start/concepts.md');
const access = documentAt('docs/guides/access.md');
const agents = documentAt('docs/guides/agents.md');

let workspace: TempWorkspace;
let server: McpClient | undefined;

beforeEach(() => {
  workspace = createTempWorkspace();
});

afterEach(async () => {
  await server?.close();
  server = undefined;
  workspace.remove();
});

/** A server as set up by the page. */
async function start(page: typeof access): Promise<McpClient> {
  const [config = ''] = blocksOf(page, 'json');
  workspace.write('troupe.config.json', config);
  server = await startServer(workspace);
  return server;
}

test('an agent that asks for more than the ceiling is held to it, as docs/guides/access.md shows', async () => {
  const told: string[] = [];
  const real = await start(access);
  const listening: Pick<McpClient, 'call'> = {
    call: async (name, input) => {
      const answer = await real.call(name, input);
      told.push(answer.text);
      return answer;
    }
  };
  const section = sectionOf(access, '## The ceiling');
  expect(await new ShownTalk(listening).play(fencedIn(section))).toBe(2);
  expect(told.join()).toContain('(refused to write notes.md: access is read)');
  expect(existsSync(join(workspace.path, 'notes.md'))).toBe(false);
});

test.each([
  ['## In a minute', 4],
  ['## Asked twice', 2]
])(
  'the calls of docs/guides/agents.md, "%s", are answered as it shows',
  async (at, n) => {
    const talk = new ShownTalk(await start(agents));
    expect(await talk.play(fencedIn(sectionOf(agents, at)))).toBe(n);
  }
);

test('the same request_id gives the same agent', async () => {
  const talk = await start(agents);
  const input = { prompt: 'say x', request_id: 'job-17' };
  const [one, two] = [
    await talk.call('spawn_rehearsal', input),
    await talk.call('spawn_rehearsal', input)
  ];
  expect(two.data.agent_id).toBe(one.data.agent_id);
});

const enginesSchema = z.object({
  engines: z.array(
    z.object({
      name: z.string(),
      access: z.record(z.string(), z.string()).nullable()
    })
  )
});

test('docs/guides/access.md names what enforces the access of each engine', async () => {
  const flags = ['engines', '--json', '--engines'];
  const shown = rowsIn(sectionOf(access, '## Enforced, or asked for'));
  const names = shown.flatMap(([name = '']) =>
    name.startsWith('`') ? [name.replaceAll('`', '')] : []
  );
  const all = await runCommand(workspace, [...flags, names.join(',')]);
  const { engines } = enginesSchema.parse(JSON.parse(all.stdout));
  expect(
    engines.map((one) => [
      `\`${one.name}\``,
      ...['read', 'write', 'full'].map((level) => one.access?.[level])
    ])
  ).toEqual(shown.filter(([name = '']) => name.startsWith('`')));
  const byDefault = await runCommand(workspace, ['engines', '--json']);
  const programs = enginesSchema
    .parse(JSON.parse(byDefault.stdout))
    .engines.filter((one) => one.access !== null);
  for (const { name } of programs) expect(names).toContain(name);
});

test('every status is in docs/guides/agents.md', () => {
  const listed = rowsIn(sectionOf(agents, '## How it stands')).map(
    ([status = '']) => status.replaceAll('`', '')
  );
  expect(listed).toEqual([
    'queued',
    'running',
    'completed',
    'failed',
    'timeout',
    'canceled',
    'interrupted'
  ]);
});

test('each concept leads to its page, and the README to all of them', () => {
  const rows = rowsIn(concepts.text);
  expect(rows.length).toBeGreaterThan(15);
  for (const [word, , read = ''] of rows)
    expect(read, word).toMatch(/^\[.+\]\(.+\)/);
  const readme = documentAt('README.md').text;
  for (const page of [
    'start/concepts',
    'guides/agents',
    'guides/access',
    'guides/troubleshooting'
  ])
    expect(readme).toContain(`(docs/${page}.md`);
});
