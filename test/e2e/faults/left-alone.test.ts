import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { parseIac } from '../../kit/judges/iac-parser.ts';
import { until } from '../../kit/judges/until.ts';
import { type McpClient, startServer } from '../../kit/servers/mcp-client.ts';
import {
  createStepWorkspace,
  type StepWorkspace,
  stepPrompt
} from '../../kit/workspaces/step-workspace.ts';

/** From a server's end to the end of what must not outlive it. */
const promisedMs = 5000;

/** How a server ends, and whether it can say goodbye. */
const ends: [how: string, end: (server: McpClient) => unknown][] = [
  ['kill -9', (server) => server.child.kill('SIGKILL')],
  ['the end of its stdin', (server) => server.child.stdin?.end()],
  ['SIGTERM', (server) => server.child.kill('SIGTERM')]
];

let workspace: StepWorkspace;

beforeEach(() => {
  workspace = createStepWorkspace();
});

afterEach(() => workspace.remove());

describe('when the last server has gone', () => {
  test('a time limit still holds', async () => {
    const server = await startServer(workspace);
    const id = await spawn(server, 'long', 60, { timeout: 1 });
    server.child.kill('SIGKILL');
    await gone(id, 1000 + promisedMs);
    expect(await nextServerSays(id)).toMatchObject({
      status: 'timeout',
      error_code: 'timeout'
    });
    expect(logged(id)).toBe('Timed out');
  });

  test.each(ends)('agents go on to their end after %s', async (_how, end) => {
    const server = await startServer(workspace);
    const id = await spawn(server, 'kept', 0.5);
    end(server);
    await server.exited;
    expect(workspace.survivors()).toEqual([id]);
    await until('the end of the agent', () => endOf('kept'));
    expect(await nextServerSays(id)).toMatchObject({
      status: 'completed',
      result: 'did kept'
    });
    expect(logged(id)).toBe('Done');
  });

  test.each(ends)(
    'onDisconnect "stop" ends agents after %s',
    async (_how, end) => {
      const server = await startServer(workspace, {
        flags: ['--on-disconnect', 'stop'],
        env: { TROUPE_ENGINES: 'step,rehearsal' }
      });
      const easy = await spawn(server, 'easy', 60);
      const stubborn = await server.call('spawn_rehearsal', {
        prompt: 'ignore-term\nleave-child\nhang'
      });
      await until('the stubborn agent', () =>
        deaf(String(stubborn.data.agent_id))
      );
      const began = performance.now();
      end(server);
      await server.exited;
      for (const id of [easy, String(stubborn.data.agent_id)])
        await gone(id, promisedMs - (performance.now() - began));
      expect(workspace.survivors()).toEqual([]);
      for (const id of [easy, String(stubborn.data.agent_id)]) {
        expect(await nextServerSays(id)).toMatchObject({
          status: 'interrupted',
          success: false
        });
        expect(logged(id)).toBe('Interrupted');
      }
    }
  );

  test.each(ends)('queued agents never start after %s', async (_how, end) => {
    const server = await startServer(workspace, {
      env: { TROUPE_MAX_CONCURRENT: '1' }
    });
    const first = await spawn(server, 'first', 2);
    const queued = [
      await spawn(server, 'second', 0),
      await spawn(server, 'third', 0)
    ];
    const { data } = await server.call('list');
    expect(data.queued).toHaveLength(2);
    end(server);
    await server.exited;
    expect(await nextServerSays(first)).toMatchObject({ status: 'completed' });
    for (const id of queued) {
      expect(await nextServerSays(id)).toMatchObject({
        status: 'interrupted',
        error_code: 'interrupted'
      });
      expect(logged(id)).toBe('Interrupted');
    }
    expect(workspace.steps().map(({ name }) => name)).toEqual([
      'first',
      'first'
    ]);
  });

  test('an agent whose supervisor was killed is ended at the next look', async () => {
    const server = await startServer(workspace);
    const id = await spawn(server, 'orphan', 60);
    await until('the start of the agent', () => startOf('orphan'));
    server.child.kill('SIGKILL');
    await server.exited;
    const claim = join(workspace.record, 'spawns', id, 'claim');
    process.kill(Number.parseInt(readFileSync(claim, 'utf8'), 10), 'SIGKILL');
    expect(workspace.survivors()).toEqual([id]);
    expect(await nextServerSays(id)).toMatchObject({
      status: 'interrupted',
      error_code: 'interrupted'
    });
    expect(workspace.survivors()).toEqual([]);
    expect(logged(id)).toBe('Interrupted');
  });
});

async function spawn(
  server: McpClient,
  name: string,
  seconds: number,
  more: Record<string, unknown> = {}
): Promise<string> {
  const prompt = stepPrompt(name, seconds);
  const { data } = await server.call('spawn_step', { prompt, ...more });
  return String(data.agent_id);
}

/** Asks a new server at once; it waits for what still runs. */
async function nextServerSays(id: string): Promise<Record<string, unknown>> {
  const server = await startServer(workspace);
  const waited = await server.call('wait_for_agents', { agent_ids: [id] });
  expect(waited.data.status).toBe('all_completed');
  const { data } = await server.call('result', { agent_id: id });
  expect(await server.close()).toEqual({ code: 0, signal: null });
  expect(server.impurities).toEqual([]);
  expect(await workspace.verify()).toMatchObject({ faults: [], torn: 0 });
  return data;
}

/** What IAC.md says of an agent. */
function logged(agentId: string): string | undefined {
  const { entries } = parseIac(workspace.iac());
  return entries.find(({ id }) => id === agentId)?.word;
}

async function gone(id: string, withinMs: number): Promise<void> {
  const isGone = () => !workspace.survivors().includes(id) || undefined;
  await until(`the end of agent ${id}`, isGone, withinMs);
}

function startOf(name: string) {
  return workspace.steps().find((step) => step.name === name);
}

function endOf(name: string) {
  return workspace
    .steps()
    .find((step) => step.name === name && step.what === 'end');
}

/** The rehearsal agent says what it does next. */
function deaf(id: string): true | undefined {
  const path = join(workspace.record, 'spawns', id, 'stdout');
  return readFileSync(path, 'utf8').includes('"hang"') || undefined;
}
