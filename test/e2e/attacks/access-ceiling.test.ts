import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { Access } from '../../../src/plugin/plugin.ts';
import { runCommand } from '../../kit/servers/command-line.ts';
import { type McpClient, startServer } from '../../kit/servers/mcp-client.ts';
import {
  programs,
  type RecordedCall,
  recordCalls
} from '../../kit/servers/recorded-calls.ts';
import {
  createTempWorkspace,
  type TempWorkspace
} from '../../kit/workspaces/temp-workspace.ts';

const order: Access[] = ['read', 'write', 'full'];
const names = programs.map(([engine]) => engine);

/** What its arguments give a program, whatever it was meant to have. */
const given: Record<string, (words: string) => Access> = {
  claude: (words) =>
    /--dangerously-skip-permissions/.test(words)
      ? 'full'
      : /acceptEdits|Write|Edit|Bash/.test(words)
        ? 'write'
        : 'read',
  codex: (words) =>
    /--dangerously-bypass-approvals-and-sandbox|danger-full-access/.test(words)
      ? 'full'
      : /read-only/.test(words)
        ? 'read'
        : 'write',
  copilot: (words) =>
    /--allow-all|--yolo/.test(words)
      ? 'full'
      : /create|edit|write/.test(words)
        ? 'write'
        : 'read',
  'cursor-agent': (words) =>
    /--force/.test(words)
      ? 'full'
      : /--mode ask/.test(words)
        ? 'read'
        : 'write',
  gemini: (words) =>
    /yolo/.test(words)
      ? 'full'
      : /--approval-mode default --admin-policy=/.test(words)
        ? 'read'
        : 'write',
  plugin: (words) => order.find((access) => words === access) ?? 'full',
  template: (words) => order.find((access) => words === access) ?? 'full'
};

let workspace: TempWorkspace;
let calls: () => RecordedCall[];
let servers: McpClient[];

beforeEach(() => {
  workspace = createTempWorkspace();
  calls = recordCalls(workspace, ['plugin', 'template']);
  servers = [];
  workspace.write(
    'plugin.mjs',
    `export default {
      kind: 'cli', name: 'plugin', description: 'Takes all it is given.',
      command: 'plugin', args: ({ access }) => [access],
      access: { read: 'asked', write: 'asked', full: 'asked' }
    };\n`
  );
  workspace.write('run.template', 'template <%= access %>');
  for (const engine of [...names, 'plugin'])
    workspace.write(
      `agents/${engine}-role.md`,
      `---\nengine: ${engine}\naccess: full\n---\nYou do all.`
    );
  workspace.write('agents/plain-role.md', '---\naccess: full\n---\nYou do.');
  workspace.write(
    'troupe.config.json',
    JSON.stringify({
      toolsets: ['spawn', 'runs', 'squad', 'council', 'orchestrator'],
      plugins: ['./plugin.mjs'],
      council: { scope: 'project' },
      orchestrator: { backend: 'process', readyTimeoutSeconds: 20 }
    })
  );
});

afterEach(async () => {
  for (const server of servers) {
    await server.close();
    expect(server.impurities).toEqual([]);
  }
  workspace.remove();
});

async function serve(ceiling: Access, env: Record<string, string> = {}) {
  const flags = ['--max-access', ceiling];
  const server = await startServer(workspace, { flags, env });
  servers.push(server);
  return server;
}

async function allEnded(server: McpClient): Promise<void> {
  while ((await server.call('wait_for_agents', {})).data.status === 'timeout');
}

/** What every record of an agent says, and what its program got. */
function levels(): [what: string, access: unknown][] {
  const journal = readFileSync(join(workspace.record, 'iac.jsonl'), 'utf8');
  const spawned = journal
    .split('\n')
    .filter((line) => line.includes('"type":"spawned"'))
    .map((line) => JSON.parse(line));
  const folder = (id: string) => join(workspace.record, 'spawns', id);
  return [
    ...spawned.flatMap(({ agent_id: id, engine, access }) => [
      [`journal of ${engine}`, access] as [string, unknown],
      [
        `record of ${engine}`,
        JSON.parse(readFileSync(join(folder(id), 'record.json'), 'utf8')).access
      ] as [string, unknown]
    ]),
    ...programLevels()
  ];
}

function programLevels(): [what: string, access: unknown][] {
  return calls().map(({ program, argv }) => {
    // A grant in prose gives no access.
    const flags = argv.filter((word) => word.length < 300).join(' ');
    return [`${program} ${flags}`, given[program]?.(flags)];
  });
}

/** None has more than the ceiling, and some have all of it. */
function expectAtMost(ceiling: Access, started: number, most = ceiling): void {
  const found = levels();
  const above = found.filter(
    ([, access]) =>
      !order.slice(0, order.indexOf(ceiling) + 1).some((ok) => ok === access)
  );
  expect(above).toEqual([]);
  expect(calls()).toHaveLength(started);
  expect(found.map(([, access]) => access)).toContain(most);
}

const ceilings: Access[] = ['read', 'write'];

describe.each(ceilings)('with maxAccess %s no agent gets more', (ceiling) => {
  test('by a spawn, nor by the turns after it', async () => {
    const server = await serve(ceiling);
    const ids: unknown[] = [];
    for (const engine of [...names, 'plugin'])
      for (const access of ['full', undefined]) {
        const tool = `spawn_${engine.replace('-', '_')}`;
        const { data } = await server.call(tool, { prompt: 'x', access });
        expect(data.message).toContain(`access ${ceiling} (`);
        expect(data.message).toContain('capped by maxAccess');
        if (access === 'full' && engine !== 'plugin') ids.push(data.agent_id);
      }
    await allEnded(server);
    for (const agent_id of ids) {
      const args = { agent_id, prompt: 'y' };
      const { data, text } = await server.call('continue_agent', args);
      expect(data.message, text).toContain(`access ${ceiling} (`);
    }
    await allEnded(server);
    expectAtMost(ceiling, 2 * 6 + ids.length);
  });

  test('by a role, in a squad or as a worker', async () => {
    const server = await serve(ceiling);
    const members = [...names, 'plugin'].map((engine) => ({
      roleId: `${engine}-role`,
      task: 'x'
    }));
    const squad = await server.call('start_squad_members', { members });
    expect(squad.isError, squad.text).toBe(false);
    await allEnded(server);
    const workers = names.filter((engine) => engine !== 'cursor-agent');
    for (const engine of workers)
      for (const args of [
        { role: `${engine}-role` },
        { role: 'words', engine, access: 'full' }
      ]) {
        const asked = { name: engine, ...args };
        // Stand-ins never ask for work.
        const { data } = await server.call('agent_create', asked);
        expect(data.error_code).toBe('not_ready');
      }
    expectAtMost(ceiling, 6 + 2 * workers.length);
  });

  test('by a template', async () => {
    const server = await serve(ceiling, {
      ENGINE: 'mine',
      RUN_TEMPLATE_PATH: 'run.template'
    });
    const members = [{ roleId: 'plain-role', task: 'x' }];
    await server.call('start_squad_members', { members });
    expectAtMost(ceiling, 1);
  });

  test('by a command', async () => {
    const args = ['run', 'claude', 'x', '--access', 'full'];
    const env = { TROUPE_MAX_ACCESS: ceiling };
    expect(await runCommand(workspace, args, { env })).toMatchObject({
      code: 0
    });
    expectAtMost(ceiling, 1);
  });
});

test('agents asked for an opinion or a response may only read', async () => {
  const server = await serve('full');
  const asked = { question: 'x?', engines: names };
  const opinion = await server.call('second_opinion', asked);
  expect(opinion.isError, opinion.text).toBe(false);
  await server.call('start_council', { agent_name: 'a', request: 'x' });
  for (const engine of names) await server.call('summon_agent', { engine });
  await allEnded(server);
  expectAtMost('read', 2 * names.length);
});

test('a ceiling that was lowered holds for turns after that', async () => {
  const before = await serve('full');
  const spawned = await before.call('spawn_codex', { prompt: 'x' });
  await allEnded(before);
  expect(levels().map(([, access]) => access)).toContain('full');
  const { agent_id } = spawned.data;
  const after = await serve('read');
  const args = { agent_id, prompt: 'y' };
  const { data } = await after.call('continue_agent', args);
  expect(data.message).toContain('access read (');
  await allEnded(after);
  expect(programLevels().map(([, access]) => access)).toEqual(
    expect.arrayContaining(['full', 'read'])
  );
  expect(calls()).toHaveLength(2);
});
