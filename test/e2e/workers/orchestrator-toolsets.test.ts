import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { z } from 'zod';
import type { McpClient } from '../../kit/servers/mcp-client.ts';
import {
  createdWorker,
  refusalOf,
  workersSeen
} from '../../kit/servers/orchestrator-calls.ts';
import {
  createOrchestratorStage,
  type OrchestratorStage,
  spawnServer
} from '../../kit/servers/orchestrator-stage.ts';

const masterTools = [
  'agent_create',
  'agent_list',
  'agent_get',
  'agent_delete',
  'task_enqueue',
  'task_cancel',
  'events_read'
];
const workerTools = ['wait_for_command', 'emit_event'];

let stage: OrchestratorStage;
let master: McpClient;
let agentId: string;

beforeAll(async () => {
  stage = createOrchestratorStage('process');
  master = await stage.serve();
  const created = await createdWorker(master);
  agentId = created.agent_id;
});

afterAll(() => stage?.close());

async function toolsOf(server: McpClient): Promise<string[]> {
  const { tools } = await server.request('tools/list');
  return z
    .array(z.object({ name: z.string() }))
    .parse(tools)
    .map(({ name }) => name);
}

describe('the toolsets of the orchestrator', () => {
  test('are two: one for masters, one for workers', async () => {
    expect(await toolsOf(master)).toEqual(masterTools);
    const worker = await stage.serveWorker(agentId);
    expect(await toolsOf(worker)).toEqual(workerTools);
  });

  test('are left out unless they are asked for', async () => {
    stage.write('default.json', JSON.stringify({ engines: { rehearsal: {} } }));
    const server = await stage.serve({ flags: ['--config', 'default.json'] });
    const names = await toolsOf(server);
    expect(names).toContain('start_squad_members');
    for (const name of [...masterTools, ...workerTools])
      expect(names).not.toContain(name);
  });

  test('come without the tools of workers when all are requested', async () => {
    const server = await stage.serve({ flags: ['--toolsets', 'all'] });
    const names = await toolsOf(server);
    expect(names).toEqual(expect.arrayContaining(masterTools));
    for (const name of workerTools) expect(names).not.toContain(name);
  });

  test('can be combined with other toolsets of a master', async () => {
    const flags = ['--toolsets', 'orchestrator,runs'];
    const names = await toolsOf(await stage.serve({ flags }));
    expect(names).toEqual(expect.arrayContaining(masterTools));
    expect(names).not.toContain('start_squad_members');
  });

  test('keep a worker from what is for masters', async () => {
    const worker = await stage.serveWorker(agentId);
    const before = await workersSeen(master, 'all');
    for (const name of [...masterTools, 'list', 'spawn_rehearsal']) {
      const { error_code, hint } = await refusalOf(worker, name);
      expect(error_code).toBe('unknown_tool');
      expect(hint).toContain('wait_for_command, emit_event');
    }
    const { resources } = await worker
      .request('resources/list')
      .catch(() => ({ resources: [] }));
    expect(resources).toEqual([]);
    expect(await workersSeen(master, 'all')).toEqual(before);
  });
});

describe('a server of a worker does not start', () => {
  test.each<[string, string[], RegExp]>([
    [
      'with other toolsets',
      ['--toolsets', 'worker,runs', '--agent-id', 'KNOWN'],
      /worker/
    ],
    ['without its id', ['--toolsets', 'worker'], /--agent-id/],
    ['with an id alone', ['--agent-id', 'KNOWN'], /--toolsets worker/],
    [
      'with an id and the toolset of masters',
      ['--toolsets', 'orchestrator', '--agent-id', 'KNOWN'],
      /--toolsets worker/
    ],
    [
      'with an id that nobody has',
      ['--toolsets', 'worker', '--agent-id', 'ffffffff'],
      /no worker "ffffffff".* The list of workers shows all/
    ],
    [
      'with an id that is a path',
      ['--toolsets', 'worker', '--agent-id', '../../x'],
      /no worker/
    ],
    [
      'with an empty id',
      ['--toolsets', 'worker', '--agent-id', ''],
      /--agent-id|no worker/
    ],
    ['with a toolset there is not', ['--toolsets', 'workers'], /--toolsets/]
  ])('%s', async (_, flags, words) => {
    const known = flags.map((flag) => flag.replace('KNOWN', agentId));
    const server = spawnServer(stage, known);
    const answer = server.request('initialize', {
      protocolVersion: '2025-11-25',
      capabilities: {},
      clientInfo: { name: 'troupe-test', version: '1' }
    });
    await expect(answer).rejects.toThrow('the server ended');
    expect(await server.exited).toEqual({ code: 1, signal: null });
    expect(server.stderr).toMatch(words);
    expect(server.impurities).toEqual([]);
    expect(server.notifications).toEqual([]);
  });
});
