import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { idOf, makeUp } from '../../../../test/kit/agents/made-up-agents.ts';
import { callContext } from '../../../../test/kit/servers/call-context.ts';
import {
  createTempWorkspace,
  type TempWorkspace
} from '../../../../test/kit/workspaces/temp-workspace.ts';
import { loadConfig } from '../../../config/config.ts';
import { wasRead } from '../../../core/runs/run-files.ts';
import { RunStore } from '../../../core/runs/run-store.ts';
import { createHost, type Host } from '../../../host/host.ts';
import { toolsOf } from '../server/offer.ts';

const done = idOf(1);
const queued = idOf(2);
const unknown = idOf(3);

let workspace: TempWorkspace;
let host: Host;

beforeEach(async () => {
  workspace = createTempWorkspace();
  await start();
  makeUp(workspace.record, { agent_id: done, daysAgo: 1, text: 'the answer' });
  makeUp(workspace.record, { agent_id: queued, daysAgo: null });
});

afterEach(async () => {
  await host.close();
  workspace.remove();
});

async function start(): Promise<void> {
  const flags = { workspace: workspace.path, toolsets: 'spawn,runs,squad' };
  const environment = { HOME: workspace.home, PATH: workspace.bin };
  host = await createHost(await loadConfig(flags, environment));
}

async function call(
  name: string,
  input: unknown
): Promise<Record<string, unknown>> {
  const tool = toolsOf(host).find((one) => one.name === name);
  if (!tool) throw new Error(`no tool ${name}`);
  const { structuredContent, isError } = await tool.call(
    input,
    callContext({ afterAnswer: (work) => void work() })
  );
  return { isError: isError === true, ...structuredContent };
}

const invalid = { isError: true, error_code: 'invalid_input' };

const member = { roleId: 'developer', task: 'x' };

test.each([
  ['result', {}],
  ['result', { agent_id: '' }],
  ['result', { agent_id: 'x'.repeat(65) }],
  ['result', { agent_id: done, offset: -1 }],
  ['result', { agent_id: done, offset: 0.5 }],
  ['result', { agent_id: done, other: 1 }],
  ['list', { limit: 0 }],
  ['list', { limit: 101 }],
  ['list', { limit: 1.5 }],
  ['cancel_agent', {}],
  ['cancel_agent', { agent_id: queued, reason: 'x'.repeat(501) }],
  ['wait_for_agents', { timeout: -1 }],
  ['wait_for_agents', { timeout: 604_801 }],
  ['wait_for_agents', { agent_ids: [] }],
  ['wait_for_agents', { agent_ids: Array(501).fill(done) }],
  ['wait_for_agents', { squadId: '' }],
  ['wait_for_agents', { squadId: 'x'.repeat(65) }],
  ['wait_for_agents', { mode: 'some' }],
  ['wait_for_agents', { scope: 'all' }],
  ['start_squad_members', {}],
  ['start_squad_members', { members: [] }],
  ['start_squad_members', { members: Array(501).fill(member) }],
  ['start_squad_members', { members: [{ ...member, roleId: '' }] }],
  ['start_squad_members', { members: [{ ...member, task: '' }] }],
  ['start_squad_members', { members: [{ ...member, chatId: 'x' }] }],
  ['start_squad_members', { members: [member], background: 'yes' }],
  ['list_roles', { x: 1 }]
])('%s refuses %j, and starts nothing', async (name, input) => {
  expect(await call(name, input)).toMatchObject(invalid);
  expect(readdirSync(join(workspace.record, 'spawns'))).toEqual([done, queued]);
});

test.each([
  ['result', { agent_id: done, offset: 0 }],
  ['result', { agent_id: 'x'.repeat(64) }],
  ['list', { limit: 1 }],
  ['list', { limit: 100 }],
  ['cancel_agent', { agent_id: done, reason: 'x'.repeat(500) }],
  ['wait_for_agents', { timeout: 604_800, agent_ids: Array(500).fill(done) }],
  ['wait_for_agents', { timeout: 0, scope: 'workspace', mode: 'any' }]
])('%s takes an input at its limits: %j', async (name, input) => {
  expect((await call(name, input)).isError).toBe(false);
});

describe('result', () => {
  test('gives the answer, and marks it as read', async () => {
    expect(await call('result', { agent_id: done })).toMatchObject({
      status: 'completed',
      result: 'the answer'
    });
    expect(wasRead(new RunStore(workspace.record).directoryOf(done))).toBe(
      true
    );
  });

  test('of an agent that has not ended names the next call', async () => {
    expect(await call('result', { agent_id: queued })).toMatchObject({
      isError: false,
      status: 'queued',
      message: expect.stringContaining(`"agent_ids":["${queued}"]`)
    });
  });

  test('of an unknown agent says so', async () => {
    expect(await call('result', { agent_id: unknown })).toMatchObject({
      agent_id: unknown,
      status: 'not_found',
      message: expect.stringContaining('Call list.')
    });
  });
});

describe('cancel_agent', () => {
  test('ends an agent that is queued', async () => {
    expect(await call('cancel_agent', { agent_id: queued })).toMatchObject({
      agent_id: queued,
      status: 'canceled',
      message: expect.stringMatching(/^It is canceled; result /)
    });
    expect(new RunStore(workspace.record).hasOutcome(queued)).toBe(true);
  });

  test('changes nothing about an agent that has ended', async () => {
    expect(await call('cancel_agent', { agent_id: done })).toMatchObject({
      status: 'completed',
      message: 'It had ended before (completed); nothing was changed.'
    });
  });

  test('refuses an unknown agent', async () => {
    expect(await call('cancel_agent', { agent_id: unknown })).toMatchObject({
      isError: true,
      error_code: 'unknown_agent'
    });
  });
});

describe('wait_for_agents', () => {
  const wait = (input: object) =>
    call('wait_for_agents', { timeout: 0, ...input });

  test('refuses an unknown agent even next to a known one', async () => {
    expect(await wait({ agent_ids: [done, unknown] })).toMatchObject({
      isError: true,
      error_code: 'unknown_agent'
    });
  });

  test('answers at the time limit with the agents that go on', async () => {
    expect(await wait({ agent_ids: [done, queued] })).toMatchObject({
      status: 'timeout',
      still_running: [queued],
      completed_results: [{ agent_id: done, result: 'the answer' }],
      message: expect.stringContaining('with still_running as agent_ids')
    });
  });

  test('for any answers at the first that has ended', async () => {
    const found = await wait({ agent_ids: [done, queued], mode: 'any' });
    expect(found).toMatchObject({ status: 'any_completed' });
  });

  test('names each agent once', async () => {
    const { status, results } = await wait({ agent_ids: [done, done] });
    expect(status).toBe('all_completed');
    expect(results).toHaveLength(1);
  });

  test('waits without ids for the agents of the caller alone', async () => {
    const caller = { client: 'other', session: '9' };
    makeUp(workspace.record, { agent_id: queued, daysAgo: null, caller });
    expect(await wait({})).toMatchObject({
      status: 'no_agents_running',
      others_running: 1,
      message: expect.stringContaining('Others have 1 at work or queued')
    });
    expect(await wait({ scope: 'workspace' })).toMatchObject({
      status: 'timeout',
      still_running: [queued]
    });
  });

  test('refuses an unknown squad', async () => {
    expect((await wait({ squadId: 'unknown' })).isError).toBe(true);
  });
});

test('list shows active agents, and as many ended ids as asked for', async () => {
  makeUp(workspace.record, { agent_id: unknown, daysAgo: 0, isOpen: true });
  expect(await call('list', { limit: 1 })).toMatchObject({
    running: [],
    queued: [{ id: queued, type: 'rehearsal', status: 'queued' }],
    completed_ids: [unknown],
    tip: expect.stringMatching(/^wait_for_agents/)
  });
  await call('cancel_agent', { agent_id: queued });
  expect(await call('list', {})).toMatchObject({
    queued: [],
    tip: expect.stringMatching(/^Nothing is running\./)
  });
});

test('a stateful squad takes the id of a chat', async () => {
  workspace.write('troupe.config.json', '{"squad":{"stateMode":"stateful"}}');
  await host.close();
  await start();
  const start_ = (chatId: string) =>
    call('start_squad_members', {
      members: [{ roleId: 'no-such-role', task: 'x', chatId }]
    });
  expect(await start_('x'.repeat(257))).toMatchObject(invalid);
  expect((await start_('x')).error).not.toContain('unknown parameter');
  expect(existsSync(join(workspace.record, 'squads'))).toBe(false);
});
