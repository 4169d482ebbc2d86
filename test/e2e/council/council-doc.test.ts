import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { councilFlags } from '../../../src/cli/commands/serve/mcp.ts';
import { stateSchema } from '../../../src/core/council/state.ts';
import {
  blocksOf,
  documentAt,
  fencedIn,
  firstColumn,
  sectionOf
} from '../../kit/judges/documents.ts';
import { ShownTalk } from '../../kit/judges/shown-talk.ts';
import {
  councilFileOf,
  councilIn,
  startCouncilServer
} from '../../kit/servers/council-servers.ts';
import { type McpClient, startServer } from '../../kit/servers/mcp-client.ts';
import {
  createTempWorkspace,
  type TempWorkspace
} from '../../kit/workspaces/temp-workspace.ts';

const page = documentAt('docs/guides/council.md');

let workspace: TempWorkspace;
let claude: McpClient;
let codex: McpClient;

beforeEach(async () => {
  workspace = createTempWorkspace();
  const [config = ''] = blocksOf(page, 'json').filter((block) =>
    Object.keys(JSON.parse(block)).includes('engines')
  );
  workspace.write('troupe.config.json', config);
  claude = await startServer(workspace);
  codex = await startCouncilServer(workspace, { flags: ['-f', 'json'] });
});

afterEach(async () => {
  await Promise.all([claude.close(), codex.close()]);
  expect([...claude.impurities, ...codex.impurities]).toEqual([]);
  workspace.remove();
});

/** Each agent of the pages has a server of its own. */
const table: Pick<McpClient, 'call'> = {
  call: (name, input = {}) =>
    (input.agent_name === 'codex' ? codex : claude).call(name, input)
};

test.each([
  ['docs/guides/council.md', '## In a minute', 6],
  ['docs/guides/council.md', '## Summon an agent', 3],
  ['README.md', '### Hold a council', 3]
])('the calls of %s, "%s", are answered as it shows', async (path, at, n) => {
  const section = sectionOf(documentAt(path), at);
  expect(await new ShownTalk(table).play(fencedIn(section))).toBe(n);
});

test('the agent that the page summons gives the response of its script', async () => {
  const section = sectionOf(page, '## Summon an agent');
  await new ShownTalk(table).play(fencedIn(section));
  const { feedback } = councilIn(councilFileOf(workspace));
  expect(feedback).toEqual([
    expect.objectContaining({
      author: 'rehearsal',
      content: expect.stringContaining('Rename it first.')
    })
  ]);
});

test('the page has every key of the file, and no other', () => {
  expect(firstColumn(sectionOf(page, '### The file'))).toEqual(
    Object.keys(stateSchema().shape)
  );
});

test('the files that the page lists next to the council file are there', async () => {
  const claim = { agent_name: 'codex', content: 'x'.repeat(30_000) };
  await claude.call('start_council', { agent_name: 'claude', request: 'One?' });
  await codex.call('send_response', claim);
  await claude.call('wait_for_responses', { agent_name: 'claude' });
  const { data } = await claude.call('start_council', {
    agent_name: 'claude',
    request: 'Two?'
  });
  const path = councilFileOf(workspace);
  const { session, feedback } = councilIn(String(data.history_file));
  const [response] = feedback;
  const beside = (name: string) => join(dirname(path), name);
  const listed = firstColumn(sectionOf(page, '## Where it is kept'));
  for (const [name, real] of [
    ['history/<session_id>.json', beside(`history/${session?.id}.json`)],
    ['texts/<id>.txt', beside(`texts/${response?.id}.txt`)],
    ['state.json.servers/', `${path}.servers`]
  ] as const) {
    expect(listed).toContain(name);
    expect(existsSync(real), real).toBe(true);
  }
  const text = beside(`texts/${response?.id}.txt`);
  expect(readFileSync(text, 'utf8')).toBe(claim.content);
});

test('docs/reference/command-line.md has every flag of council mcp, and no other', () => {
  const section = sectionOf(
    documentAt('docs/reference/command-line.md'),
    '## council mcp'
  );
  const named = firstColumn(section).map((flag) => /--[a-z-]+/.exec(flag)?.[0]);
  expect(named.toSorted()).toEqual(
    Object.keys(councilFlags)
      .map((flag) => `--${flag}`)
      .toSorted()
  );
});
