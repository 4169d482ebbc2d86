import { join } from 'node:path';
import { beforeEach, describe, expect, test } from 'vitest';
import {
  idOf,
  type MadeUp,
  makeUp
} from '../../../test/kit/agents/made-up-agents.ts';
import {
  type HostHere,
  hostHere
} from '../../../test/kit/servers/host-here.ts';
import {
  askData,
  bodyFor,
  cancelAgent,
  continueAgent,
  spawnAlike
} from './actions.ts';

let here: HostHere;

beforeEach(async () => {
  here = await hostHere();
});

const id = idOf(0x11111111);
const requestId = 'request-1';

function agent(made: Partial<MadeUp> = {}): void {
  const all = { agent_id: id, daysAgo: 1, isOpen: true, ...made };
  makeUp(here.workspace.record, all);
}

/** The record of an agent that the page has started. */
const recordOf = (agentId: string) => here.host.store.recordOf(agentId);

describe('the body of a request', () => {
  const long = 'x'.repeat(1_000_001);

  test.each<[Parameters<typeof bodyFor>[0], unknown]>([
    ['cancel', {}],
    ['cancel', { reason: '' }],
    ['answer', { decision: 'allow' }],
    ['answer', { text: 'yes' }],
    ['task', { task_id: 't'.repeat(200), text: long.slice(1) }],
    ['task', { task_id: 't', text: 'two\nlines' }],
    ['cancelTask', { task_id: 'two\nlines' }],
    ['stop', { force: false }],
    ['summon', { engine: 'grok' }],
    ['login', { code: '' }],
    ['link', { scope: 'look' }]
  ])('of %s is taken (%#)', (name, body) => {
    expect(bodyFor(name, body)).toEqual(body);
  });

  test.each<[Parameters<typeof bodyFor>[0], unknown, string]>([
    ['cancel', { reasons: 'x' }, 'The request is invalid: body '],
    ['cancel', undefined, 'The request is invalid: body '],
    ['continue', { prompt: ' \n', request_id: requestId }, 'prompt is empty.'],
    ['continue', { prompt: 'x', request_id: 'short' }, ': request_id '],
    ['task', { task_id: 't', text: long }, 'text has 1,000,001 characters'],
    ['task', { task_id: 'two\nlines', text: 'x' }, 'task_id is not one line.'],
    ['answer', { decision: 'maybe' }, ': decision ']
  ])('of %s is refused (%#)', (name, body, message) => {
    expect(() => bodyFor(name, body)).toThrow(message);
  });

  test('that is too long can be repaired by the person, a wrong one by a reload', () => {
    const hintOf = (body: unknown) => {
      try {
        return Object(bodyFor('continue', body)).hint;
      } catch (error) {
        return Object(error).hint;
      }
    };
    expect(hintOf({ prompt: long, request_id: requestId })).toMatch(/a file/);
    expect(hintOf({ prompt: 'x' })).toMatch(/^Reload/);
  });
});

describe('canceling', () => {
  test('ends an agent, with the words of the person', async () => {
    agent({ daysAgo: null });
    expect(await cancelAgent(here.host, id, { reason: ' enough ' })).toEqual({
      ...{ agent_id: id, status: 'canceled', had_ended: false }
    });
    const run = await here.host.tracker.run(id);
    expect(run?.outcome?.error).toContain(': enough (from the page)');
  });

  test('without words records none', async () => {
    agent({ daysAgo: null });
    await cancelAgent(here.host, id, { reason: ' ' });
    const run = await here.host.tracker.run(id);
    expect(run?.outcome?.error).toMatch(
      /^Canceled before it started: from the page/
    );
  });

  test('changes nothing of an agent that has ended', async () => {
    agent();
    expect(await cancelAgent(here.host, id, {})).toEqual({
      ...{ agent_id: id, status: 'completed', had_ended: true }
    });
  });

  test('an unknown agent is an error', async () => {
    await expect(cancelAgent(here.host, id, {})).rejects.toMatchObject({
      code: 'unknown_agent'
    });
  });
});

describe('another prompt', () => {
  const body = { prompt: 'say more', request_id: requestId };

  test('continues the session of an agent', async () => {
    const { path } = here.workspace;
    agent({ cwd: path, outcome: { session_id: id } });
    const started = await continueAgent(here.host, id, body);
    expect(started).toMatchObject({ error: null, warning: null });
    expect(recordOf(started.agent_id)).toMatchObject({
      ...{ continues: id, task: 'say more', request_id: requestId },
      caller: { client: 'troupe web' }
    });
  });

  test('goes to no agent without a session', async () => {
    agent();
    await expect(continueAgent(here.host, id, body)).rejects.toMatchObject({
      code: 'no_session'
    });
  });
});

describe('an agent like another one', () => {
  const body = { like: id, prompt: 'say hello', request_id: requestId };

  test('has its engine, model, access, directory and system prompt', async () => {
    here.workspace.write('src/a', '');
    const cwd = join(here.workspace.path, 'src');
    const like = { model: 'script', access: 'read', cwd } as const;
    agent(like);
    const started = await spawnAlike(here.host, body);
    expect(recordOf(started.agent_id)).toMatchObject({
      ...{ ...like, engine: 'rehearsal', task: 'say hello' },
      ...{ request_id: requestId, system_prompt: null },
      caller: { client: 'troupe web' }
    });
    expect(recordOf(started.agent_id)?.worktree).toBeUndefined();
  });

  test('of a worktree starts in the folder that the worktree was made from', async () => {
    const { path } = here.workspace;
    const worktree = { path: '/t', branch: 'b', base: 'c', origin: path };
    agent({ cwd: '/t', worktree });
    await expect(spawnAlike(here.host, body)).rejects.toThrow(
      `No worktree can be made from ${path}`
    );
  });

  test.each([{ template: 't' }, { program: 'p' }])(
    'is refused for one of the squads: %j',
    async (made) => {
      agent(made);
      await expect(spawnAlike(here.host, body)).rejects.toMatchObject({
        code: 'invalid_input',
        message: expect.stringContaining(id)
      });
    }
  );
});

test('an ask that is not open is an error, which repeats no long id', async () => {
  await expect(askData(here.host, 'x'.repeat(200))).rejects.toMatchObject({
    code: 'unknown_ask',
    message: `The ask ${'x'.repeat(100)} is not open.`
  });
});
