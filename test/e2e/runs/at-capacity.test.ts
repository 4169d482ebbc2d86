import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { type NestedCall, nesting } from '../../kit/agents/nesting-agent.ts';
import { until } from '../../kit/judges/until.ts';
import {
  createNestingStage,
  occupy,
  atCapacity as refused
} from '../../kit/workspaces/nesting-stage.ts';

const child: NestedCall = {
  tool: 'spawn_nester',
  arguments: { prompt: nesting({ calls: [] }) }
};
const waitForIt = {
  tool: 'wait_for_agents',
  arguments: { agent_ids: ['$id'], timeout: 60 }
};

describe('agents that fill all places, and each want an agent of their own', () => {
  test.each([1, 2])(
    'are reported as such at once, by %d servers, and all end',
    async (count) => {
      const stage = createNestingStage({ maxConcurrent: 8 });
      const { serve, parents, answers, agentsOnDisk, workspace } = stage;
      for (let index = 0; index < count; index += 1) await serve();
      const ids = await parents(8, [child, waitForIt]);
      const began = performance.now();
      for (const [spawned] of await answers(ids)) {
        expect(spawned).toMatchObject(refused);
        expect(spawned?.ms).toBeLessThan(5000);
      }
      expect(performance.now() - began).toBeLessThan(30_000);
      // Of what was refused, nothing is left.
      expect(agentsOnDisk().sort()).toEqual(ids.sort());
      const open = join(workspace.record, 'open');
      const isMark = (name: string) => name !== '.gitignore';
      await until('all ends', () => !readdirSync(open).some(isMark));
    },
    60_000
  );

  test('get the free slots, and no more', async () => {
    const stage = createNestingStage({ maxConcurrent: 11 });
    const { serve, parents, answers } = stage;
    await serve();
    const ids = await parents(8, [
      {
        tool: 'spawn_rehearsal',
        arguments: { prompt: 'sleep 2\nsay done' }
      },
      waitForIt
    ]);
    const all = await answers(ids);
    const begun = all.filter(([spawned]) => !spawned?.isError);
    expect(begun).toHaveLength(3);
    for (const [, waited] of begun)
      expect(waited?.data.status).toBe('all_completed');
  });
});

test('what people start waits in the queue as ever, and ends', async () => {
  const { serve, parents, answers } = createNestingStage({ maxConcurrent: 2 });
  const server = await serve();
  const [parent = ''] = await parents(1, [child]);
  const holder = await occupy(server);
  const { data } = await server.call('spawn_rehearsal', { prompt: 'say q' });
  expect(data.status).toBe('queued');
  const [[spawned] = []] = await answers([parent]);
  expect(spawned).toMatchObject(refused);
  await server.call('cancel_agent', { agent_id: holder });
  const waited = await server.call('wait_for_agents', {
    agent_ids: [String(data.agent_id)]
  });
  expect(waited.data.status).toBe('all_completed');
});

describe('an agent for whose agents there is no place', () => {
  test('is reported by every tool that starts one', async () => {
    const stage = createNestingStage({ maxConcurrent: 2 });
    const { serve, parents, answers, workspace } = stage;
    const server = await serve();
    const council = { agent_name: 'alice', request: 'Why?' };
    await server.call('start_council', council);
    workspace.write('agents/one.md', '---\nengine: rehearsal\n---\nYou try.');
    const member = { roleId: 'one', task: 'say hello' };
    const [parent = ''] = await parents(1, [
      { tool: 'second_opinion', arguments: ofRehearsal({ question: 'Why?' }) },
      { tool: 'summon_agent', arguments: { engine: 'rehearsal' } },
      { tool: 'start_squad_members', arguments: { members: [member] } },
      {
        tool: 'spawn_rehearsal',
        arguments: { prompt: 'say x', request_id: 'again' }
      }
    ]);
    const holder = await occupy(server);
    const [all = []] = await answers([parent]);
    expect(all).toHaveLength(4);
    for (const answer of all) expect(answer).toMatchObject(refused);
    const { data } = await server.call('get_current_session_data', {
      agent_name: 'alice'
    });
    expect(data.participants).toHaveLength(1);
    // What was refused was not taken for started.
    await server.call('cancel_agent', { agent_id: holder });
    const { data: later } = await server.call('spawn_rehearsal', {
      prompt: 'say x',
      request_id: 'again'
    });
    expect(later.status).toBe('running');
    expect(existsSync(join(workspace.record, 'squads'))).toBe(false);
  });

  test('can continue a session later that it could not continue now', async () => {
    const stage = createNestingStage({ maxConcurrent: 2 });
    const { serve, parents, answers } = stage;
    const server = await serve();
    const { data } = await server.call('spawn_rehearsal', {
      prompt: 'say first'
    });
    const agent_id = String(data.agent_id);
    await server.call('wait_for_agents', { agent_ids: [agent_id] });
    const more = { agent_id, prompt: 'say second' };
    const [parent = ''] = await parents(1, [
      { tool: 'continue_agent', arguments: more }
    ]);
    const holder = await occupy(server);
    const [[continued] = []] = await answers([parent]);
    expect(continued).toMatchObject(refused);
    await server.call('cancel_agent', { agent_id: holder });
    const again = await server.call('continue_agent', more);
    expect(again.data).toMatchObject({ status: 'running' });
  });

  test('waits for the agents it started, not for itself or its own waiters', async () => {
    const stage = createNestingStage({ maxConcurrent: 3 });
    const { serve, parents, answers } = stage;
    const server = await serve();
    const other = await occupy(server);
    const sleeper = { prompt: 'sleep 0.3\nsay slept' };
    const [parent = ''] = await parents(1, [
      { tool: 'spawn_rehearsal', arguments: sleeper },
      { tool: 'wait_for_agents', arguments: {} },
      { tool: 'wait_for_agents', arguments: { agent_ids: ['$id', other] } },
      { tool: 'wait_for_agents', arguments: { agent_ids: ['$id', '$self'] } }
    ]);
    await server.call('cancel_agent', { agent_id: other });
    const [[, waited, named, own] = []] = await answers([parent]);
    expect(waited?.data).toMatchObject({
      status: 'all_completed',
      results: [{ result: expect.stringContaining('slept') }]
    });
    expect(named?.data.status).toBe('all_completed');
    expect(own).toMatchObject({
      isError: true,
      data: {
        error_code: 'invalid_input',
        error: expect.stringContaining('is the caller')
      }
    });
  });
});

/** Asked of it alone. */
function ofRehearsal(input: object) {
  return { ...input, engines: ['rehearsal'] };
}
