import { afterAll, expect, test } from 'vitest';
import { tokensOf } from '../../../../bench/token-count.mjs';
import { callContext } from '../../../../test/kit/servers/call-context.ts';
import { createTempWorkspace } from '../../../../test/kit/workspaces/temp-workspace.ts';
import { processLiveness } from '../../../adapters/child-process/processes.ts';
import { loadConfig } from '../../../config/config.ts';
import { WorkerMailbox } from '../../../core/orchestrator/queue/worker-mailbox.ts';
import { WorkerStore } from '../../../core/orchestrator/queue/worker-store.ts';
import { termsOf } from '../../../host/wiring-orchestrator.ts';
import { workerTools } from './worker.ts';

const workspace = createTempWorkspace();
const store = new WorkerStore(workspace.paths, processLiveness());
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
  desk: new WorkerMailbox({
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

const context = callContext({ isThere: () => false });

function tool(name: string) {
  const found = tools.find((one) => one.name === name);
  if (!found) throw new Error(`There is no ${name}.`);
  return found;
}

test('the two tools of a worker cost less than 300 tokens', () => {
  expect(tools.map(({ name }) => name)).toEqual([
    'wait_for_command',
    'emit_event'
  ]);
  expect(tokensOf(tools).sent).toBeLessThan(300);
});

test.each(tools.map((one) => [one.name, one] as const))(
  '%s has a title and a description within the limits of all clients',
  (_, { name, title, description, annotations, inputSchema }) => {
    expect(name).toMatch(/^[a-z][a-z0-9_]{0,31}$/);
    expect(title).not.toBe('');
    expect(description.length).toBeGreaterThan(20);
    expect(description.length).toBeLessThanOrEqual(600);
    // The tools read and write only the worker's own files.
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

test('an end without a running task is refused, with a hint how to get the next task', async () => {
  const answer = await tool('emit_event').call(
    { type: 'result', payload: {}, done: true },
    context
  );
  expect(answer).toMatchObject({
    isError: true,
    structuredContent: {
      error_code: 'invalid_input',
      hint: 'Wait for the next command, which brings the next task.'
    }
  });
});
