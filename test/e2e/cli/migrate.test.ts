import {
  copyFileSync,
  existsSync,
  mkdirSync,
  readFileSync,
  rmSync
} from 'node:fs';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { rolesVariable, squadVariables } from '../../../src/config/squads.ts';
import { squadProgram } from '../../kit/agents/squad-program.ts';
import {
  blocksOf,
  documentAt,
  fencedIn,
  packageRoot,
  rowsIn,
  sectionOf
} from '../../kit/judges/documents.ts';
import { ShownTalk } from '../../kit/judges/shown-talk.ts';
import { until } from '../../kit/judges/until.ts';
import { runCommand } from '../../kit/servers/command-line.ts';
import {
  councilFileOf,
  startCouncilServer
} from '../../kit/servers/council-servers.ts';
import {
  type McpClient,
  type ServerOptions,
  startServer
} from '../../kit/servers/mcp-client.ts';
import { startMember } from '../../kit/servers/squad-call.ts';
import {
  createTempWorkspace,
  type TempWorkspace
} from '../../kit/workspaces/temp-workspace.ts';

const pageOf = (name: string) => documentAt(`docs/guides/migrate/${name}.md`);
const rehearsal = '{"engines": {"rehearsal": true}}';

let workspace: TempWorkspace;
let servers: McpClient[];

beforeEach(() => {
  workspace = createTempWorkspace();
  servers = [];
});

afterEach(async () => {
  for (const server of servers) await server.close();
  workspace.remove();
});

async function serve(options?: ServerOptions): Promise<McpClient> {
  const server = await startServer(workspace, options);
  servers.push(server);
  return server;
}

/** What stands in code marks in a cell. */
function wordsIn(cell = ''): string[] {
  return [...cell.matchAll(/`([^`]+)`/g)].map(([, word = '']) => word);
}

/** Rows of a table as pairs of the words there and here. */
function pairsIn(page: string, heading: string): [string[], string][] {
  return rowsIn(sectionOf(pageOf(page), heading)).map(([there, here = '']) => [
    wordsIn(there),
    here
  ]);
}

const toolSchema = z.array(
  z.object({
    name: z.string(),
    inputSchema: z.object({ properties: z.record(z.string(), z.unknown()) })
  })
);

async function toolsOf(server: McpClient) {
  return toolSchema.parse((await server.request('tools/list')).tools);
}

describe('a user of PowerSpawn', () => {
  const page = pageOf('powerspawn');
  const [entry = ''] = [
    ...page.text.matchAll(/^ {3}```json\n([\s\S]*?)```/gm)
  ].map(([, body]) => body);

  test('has the old entry left alone, and ours when it is gone', async () => {
    const file = workspace.write('.mcp.json', entry);
    const init = ['init', 'claude', '--yes'];
    await runCommand(workspace, init);
    expect(readFileSync(file, 'utf8')).toBe(entry);
    rmSync(file);
    await runCommand(workspace, init);
    const { mcpServers } = JSON.parse(readFileSync(file, 'utf8'));
    expect(mcpServers.agents.args).toContain('mcp');
  });

  test('has the keys of its file found', async () => {
    const keys = {
      _comment: 'Keys of PowerSpawn.',
      XAI_API_KEY: '',
      X_API_KEY: 'a key for tests',
      GEMINI_API_KEY: ''
    };
    const keysFile = workspace.write('api_keys.json', JSON.stringify(keys));
    const { stdout } = await runCommand(workspace, ['engines', '--json']);
    const found = JSON.parse(stdout).engines.filter(
      (one: { kind: string; available: boolean }) =>
        one.kind === 'api' && one.available
    );
    expect(found).toMatchObject([
      { name: 'grok', keys: [{ name: 'X_API_KEY', from: keysFile }] }
    ]);
  });

  test('finds each tool and parameter that the page says is the same', async () => {
    const tools = await toolsOf(await serve());
    const names = tools.map(({ name }) => name);
    for (const [there, here] of pairsIn('powerspawn', '## Tools'))
      for (const name of here === 'the same' ? there : wordsIn(here))
        expect(names).toContain(name);
    const known = new Set(
      tools.flatMap((tool) => Object.keys(tool.inputSchema.properties))
    );
    for (const [there, here] of pairsIn('powerspawn', '## Parameters'))
      for (const name of there)
        expect([name, known.has(name)]).toEqual([name, here === 'the same']);
  });

  test('gets every key of an answer that there was, and an entry in IAC.md', async () => {
    workspace.write('troupe.config.json', rehearsal);
    const server = await serve();
    const talk = new ShownTalk(server);
    expect(await talk.play(fencedIn(sectionOf(page, '## Check')))).toBe(2);
    const { data } = await server.call('wait_for_agents');
    const [result] = [data.recent_results, data.results].flat().filter(Boolean);
    const [told = ''] = sectionOf(page, '## Answers').split('. `status`');
    for (const key of wordsIn(told.split(' of a spawn;')[1]))
      if (key !== 'result') expect(Object.keys(Object(result))).toContain(key);
    const view = join(workspace.path, 'logs', 'IAC.md');
    await until(
      'the entry',
      () =>
        existsSync(view) && readFileSync(view, 'utf8').includes('✅ **Done**')
    );
  });
});

describe('a user of gs-squad-mcp', () => {
  const page = pageOf('gs-squad-mcp');

  test('has templates without pipes work as they are', async () => {
    const [template = ''] = [
      ...page.text.matchAll(/^ {3}```ejs\n([\s\S]*?)```/gm)
    ].map(([, body = '']) => body.replace(/^ {3}/gm, ''));
    workspace.write('run-agent.template', template);
    workspace.write(
      'agents/backend-developer.md',
      '---\nname: backend-developer\ncolor: blue\npriority: 1\n---\nYou build.'
    );
    const { calls } = squadProgram(workspace, 'cursor-agent');
    const server = await serve({
      env: {
        STATE_MODE: 'stateful',
        ENGINE: 'cursor-agent',
        RUN_TEMPLATE_PATH: 'run-agent.template',
        AGENTS_DIRECTORY_PATH: 'agents',
        PROCESS_TIMEOUT_MS: '900000',
        EXECUTION_MODE: 'parallel'
      }
    });
    const task = 'Say "$HOME" & `id`\nin two lines.';
    const one = await startMember(server, {
      roleId: 'backend-developer',
      task,
      chatId: 'backend-chat-123'
    });
    expect(one).toMatchObject({
      status: 'completed',
      rawStdout: 'done\n',
      chatId: 'backend-chat-123'
    });
    const argv = calls().at(-1)?.argv ?? [];
    expect(argv.slice(0, -1)).toEqual([
      ...['--approve-mcps', '--model', 'composer-1', '--print'],
      ...['--resume', 'backend-chat-123', 'agent']
    ]);
    expect(argv.at(-1)).toContain(`# Task\n\n${task}\n`);
  });

  test('has the variables read that the page says are the same', () => {
    const read = [...Object.values(squadVariables), rolesVariable];
    const same = pairsIn('gs-squad-mcp', '## Variables and flags')
      .filter(([, here]) => here === 'the same')
      .flatMap(([there]) => there.filter((word) => !word.startsWith('--')));
    expect(same.toSorted()).toEqual(read.toSorted());
  });

  test('has the variables of the page in the entry taken', async () => {
    const [entry = '{}'] = [
      ...page.text.matchAll(/^ {3}```json\n([\s\S]*?)```/gm)
    ].map(([, body]) => body);
    const { args, env } = JSON.parse(entry).mcpServers.squad;
    mkdirSync(join(workspace.path, 'agents'));
    const server = await serve({
      env,
      flags: args.slice(args.indexOf('mcp') + 1)
    });
    const names = (await toolsOf(server)).map(({ name }) => name);
    expect(names).toEqual(expect.arrayContaining(['list_roles', 'result']));
    expect(names).not.toContain('spawn_claude');
  });

  test('starts a member as the page shows', async () => {
    const server = await serve({ env: { ENGINE: 'rehearsal' } });
    const talk = new ShownTalk(server);
    expect(await talk.play(fencedIn(sectionOf(page, '## Check')))).toBe(1);
  });
});

test('a user of agents-council finds the existing council', async () => {
  const recorded = 'src/core/council/fixtures/agents-council-0.4.0.json';
  const path = councilFileOf(workspace);
  mkdirSync(dirname(path), { recursive: true });
  copyFileSync(join(packageRoot, recorded), path);
  const server = await startCouncilServer(workspace, { flags: ['-f', 'json'] });
  servers.push(server);
  const section = sectionOf(pageOf('agents-council'), '## Check');
  expect(await new ShownTalk(server).play(fencedIn(section))).toBe(1);
  expect(readFileSync(`${path}.v1.bak`)).toEqual(
    readFileSync(join(packageRoot, recorded))
  );
});

test('a user of agent-orchestrator-mcp gets a task done as the page shows', async () => {
  const section = sectionOf(pageOf('agent-orchestrator-mcp'), '## Check');
  const [config = ''] = blocksOf({ path: '', text: section }, 'json');
  workspace.write('troupe.config.json', config);
  const server = await serve();
  expect(await new ShownTalk(server).play(fencedIn(section))).toBe(3);
  const { agents } = (await server.call('agent_list')).data;
  const [{ agent_id }] = z
    .tuple([z.object({ agent_id: z.string() })])
    .parse(agents);
  const told = await until('the result', async () => {
    const { text } = await server.call('events_read', { agent_id });
    return text.includes('"stopped"') ? text : undefined;
  });
  expect(told).toContain('It works.');
});
