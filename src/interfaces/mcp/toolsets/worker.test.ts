import { afterAll, expect, test } from 'vitest';
import { tokensOf } from '../../../../bench/token-count.mjs';
import { thisWitness } from '../../../adapters/child-process/processes.ts';
import { loadConfig } from '../../../config.ts';
import { WorkerDesk } from '../../../core/orchestrator/worker-desk.ts';
import { WorkerStore } from '../../../core/orchestrator/worker-store.ts';
import { createTempWorkspace } from '../../../testing/temp-workspace.ts';
import { termsOf } from '../../../wiring-orchestrator.ts';
import { workerTools } from './worker.ts';

const workspace = createTempWorkspace();
const store = new WorkerStore(workspace.paths, thisWitness());
const agentId = '0123abcd';
const { folder, log } = store.create(
  {
    v: 1,
    agent_id: agentId,
    name: 'a worker',
    role: 'You do what the tasks say.',
    engine: 'rehearsal',
    model: null,
    access: 'read',
    cwd: workspace.path,
    run_id: 'f00df00d',
    backend: 'process',
    created_at: new Date().toISOString(),
    pane: null
  },
  {
    role: 'You do what the tasks say.',
    env: {},
    depth: 1,
    terms: termsOf(
      await loadConfig({ workspace: workspace.path }, { HOME: workspace.home }),
      {
        pid: process.pid,
        start: '',
        place: ''
      }
    )
  },
  () => undefined
);
const problems: unknown[] = [];
const tools = workerTools({
  agentId,
  desk: new WorkerDesk({
    folder,
    log,
    broadcast: store.broadcastOf('f00df00d'),
    heartbeatSeconds: 60,
    onProblem: (problem) => problems.push(problem)
  }),
  keepPayload: () => '',
  pathOf: (file) => file
});

afterAll(() => {
  store.close();
  workspace.remove();
  expect(problems).toEqual([]);
});

const context = {
  signal: new AbortController().signal,
  clientName: 'a client',
  progress: () => undefined
};

function tool(name: string) {
  const found = tools.find((one) => one.name === name);
  if (!found) throw new Error(`There is no ${name}.`);
  return found;
}

test('a worker has two tools, which cost it less than 300 tokens', () => {
  expect(tools.map(({ name }) => name)).toEqual([
    'wait_for_command',
    'emit_event'
  ]);
  expect(tokensOf(tools).sent).toBeLessThan(300);
});

test.each(tools.map((one) => [one.name, one] as const))(
  '%s says what it is within the limits of all clients',
  (_, { name, title, description, annotations, inputSchema }) => {
    expect(name).toMatch(/^[a-z][a-z0-9_]{0,31}$/);
    expect(title).not.toBe('');
    expect(description.length).toBeGreaterThan(20);
    expect(description.length).toBeLessThanOrEqual(600);
    // It takes and gives what concerns its own files, and asks nobody else.
    expect(annotations).toEqual({
      readOnlyHint: false,
      destructiveHint: false,
      idempotentHint: false,
      openWorldHint: false
    });
    expect(inputSchema).toMatchObject({
      type: 'object',
      additionalProperties: false
    });
    expect(JSON.stringify(inputSchema)).not.toMatch(/\$ref|\$defs|\$schema/);
  }
);

test.each([
  ['wait_for_command', { timeout_ms: 0 }],
  ['emit_event', { type: 'progress' }]
])(
  "%s takes the worker's own id or none, and no other",
  async (name, input) => {
    const { call } = tool(name);
    for (const own of [{}, { agent_id: agentId }]) {
      const { isError } = await call({ ...input, ...own }, context);
      expect(isError).toBeUndefined();
    }
    const before = log.outbox.lastSeq();
    const other = await call({ ...input, agent_id: 'ffffffff' }, context);
    expect(other).toMatchObject({
      isError: true,
      structuredContent: {
        error_code: 'foreign_agent',
        error: 'This server serves worker 0123abcd alone, not ffffffff.'
      }
    });
    expect(log.outbox.lastSeq()).toBe(before);
  }
);
