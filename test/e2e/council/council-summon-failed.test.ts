import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { done, refusal } from '../../kit/servers/council-calls.ts';
import { councilFileOf, councilIn } from '../../kit/servers/council-servers.ts';
import type { McpClient } from '../../kit/servers/mcp-client.ts';
import { createApiWorkspace } from '../../kit/workspaces/api-workspace.ts';
import {
  councilSeen,
  createSummonStage,
  type SummonStage,
  summoned
} from '../../kit/workspaces/summon-stage.ts';

let stage: SummonStage;
let server: McpClient;

beforeEach(async () => {
  stage = createSummonStage();
  server = await stage.serve();
});

afterEach(() => stage.close());

function start(request = 'Which language?') {
  return done(server, 'start_council', { agent_name: 'alice', request });
}

async function resultOf(agent_id: string) {
  return (await server.call('result', { agent_id })).data;
}

describe('a summoned agent that fails', () => {
  const failures = {
    'exits with an error': ['oracle', 'No idea.', 3, 'failed'],
    'says nothing': ['oracle', ' \n', 0, 'failed'],
    'is not installed': ['absent', '', 0, 'failed']
  } as const;
  for (const [how, [engine, text, code, status]] of Object.entries(failures))
    test(`as it ${how} wakes its summoner, and is no response`, async () => {
      await start();
      const other = await stage.serve();
      await councilSeen(other, 'bob', 'join_council');
      stage.answers(text, code);
      stage.hold();
      const waiting = councilSeen(server, 'alice', 'wait_for_responses');
      const atOnce = engine === 'absent' ? 'failed' : 'running';
      const { id } = await summoned(server, { engine }, atOnce);
      stage.letGo();
      const heard = await waiting;
      const { data } = await server.call('result', { agent_id: id });
      expect(heard.responses).toEqual([]);
      expect(heard.summons).toMatchObject([
        { agent_id: id, agent_name: engine, engine, status: 'failed' }
      ]);
      expect(data).toMatchObject({ agent_id: id, status, success: false });
      expect(heard.summons[0]?.error).toBe(String(data.error).slice(0, 300));
      expect(heard.summons[0]?.error_code).toBe(data.error_code);
      // Still so at the next look; none of it concerns anybody else.
      const again = await councilSeen(server, 'alice');
      expect(again.summons).toEqual(heard.summons);
      expect((await councilSeen(other, 'bob')).summons).toEqual([]);
      expect(stage.state().feedback).toEqual([]);
      await stage.marksAre();
    });

  test('is news once to a wait that begins when it has failed', async () => {
    await start();
    stage.answers('', 1);
    await stage.settled((await summoned(server)).id);
    const wait = (more = {}) =>
      councilSeen(server, 'alice', 'wait_for_responses', more);
    const first = await wait();
    expect(first.timed_out).toBeUndefined();
    expect(first.summons).toMatchObject([{ status: 'failed' }]);
    const second = await wait({ timeout: 0.05 });
    expect(second).toMatchObject({ ...first, timed_out: true });
    // It was reported to alice, not to every participant of this server.
    const carol = await councilSeen(server, 'carol', 'wait_for_responses');
    expect(carol).toMatchObject({ summons: first.summons });
    expect(carol.timed_out).toBeUndefined();
  });

  test('is reported to other participants when the summoning server is gone', async () => {
    await start();
    stage.answers('', 1);
    const { id } = await summoned(server);
    await stage.settled(id);
    const other = await stage.serve();
    expect((await councilSeen(other, 'bob')).summons).toEqual([]);
    await server.close();
    expect((await councilSeen(other, 'bob')).summons).toMatchObject([
      { agent_id: id, status: 'failed' }
    ]);
  });

  test('as it is canceled has failed as canceled', async () => {
    await start();
    stage.hold();
    const { id } = await summoned(server);
    await server.call('cancel_agent', { agent_id: id, reason: 'Enough.' });
    expect(await stage.settled(id)).toMatchObject({ status: 'failed' });
    const { summons, responses } = await councilSeen(server, 'alice');
    expect(responses).toEqual([]);
    expect(summons).toMatchObject([{ error_code: 'canceled' }]);
    expect(await resultOf(id)).toMatchObject({ status: 'canceled' });
  });

  test('as its time is up has failed as timeout', async () => {
    stage.configure({ engines: { oracle: { timeoutSeconds: 1 } } });
    server = await stage.serve();
    await start();
    stage.hold();
    const { id } = await summoned(server);
    expect(await stage.settled(id)).toMatchObject({
      status: 'failed',
      error_code: 'timeout'
    });
    expect(await resultOf(id)).toMatchObject({ status: 'timeout' });
  });
});

describe('a summons that cannot be', () => {
  async function nothingIsLeft(code: string, args: object): Promise<void> {
    const before = stage.hasCouncil() ? stage.state() : undefined;
    const refused = await refusal(
      server.call('summon_agent', { engine: 'oracle', ...args })
    );
    expect(refused).toMatchObject({ code });
    for (const words of [refused.error, refused.hint])
      expect(words).toMatch(/\w.*\.$/);
    expect(stage.marks()).toEqual([]);
    expect(stage.asked()).toEqual([]);
    const { summons = [], participants } = stage.hasCouncil()
      ? stage.state()
      : { participants: [] };
    expect(summons).toEqual([]);
    expect(participants).toEqual(before?.participants ?? []);
  }

  test('as there is no council says so, and leaves nothing', () =>
    nothingIsLeft('no_council', {}));

  test('as the council is closed says so, and leaves nothing', async () => {
    await start();
    const end = { agent_name: 'alice', conclusion: 'So.' };
    await done(server, 'close_council', end);
    await nothingIsLeft('council_closed', {});
  });

  test('as there is no such engine says so, and leaves nothing', async () => {
    await start();
    await nothingIsLeft('unknown_engine', { engine: 'nobody' });
  });
});

describe('an answer that comes when the council is over', () => {
  const ends = {
    closed: () =>
      done(server, 'close_council', {
        agent_name: 'alice',
        conclusion: 'So.'
      }),
    replaced: () => start('Which database?')
  };
  for (const [how, end] of Object.entries(ends))
    test(`as it was ${how} is filed nowhere, and lost nowhere`, async () => {
      await start();
      stage.hold();
      const { id } = await summoned(server);
      await end();
      stage.letGo();
      expect(await stage.settled(id)).toMatchObject({ status: 'failed' });
      const seen = await councilSeen(server, 'alice');
      expect(seen.responses).toEqual([]);
      expect(seen.summons).toMatchObject([
        {
          agent_id: id,
          error_code: 'council_closed',
          error: expect.stringContaining('result')
        }
      ]);
      expect(await resultOf(id)).toMatchObject({
        status: 'completed',
        result: 'The oracle has spoken.'
      });
      expect(stage.state().feedback).toEqual([]);
      await stage.marksAre();
    });
});

describe('an engine that is an API', () => {
  test('is summoned like any other, and fails like any other', async () => {
    const workspace = await createApiWorkspace();
    const { openai, gemini } = workspace.fakes;
    try {
      const own = await workspace.start();
      const request = 'Which language?';
      await done(own, 'start_council', { agent_name: 'alice', request });
      const first = await summoned(own, { engine: 'openai' });
      const heard = await councilSeen(own, 'alice', 'wait_for_responses');
      expect(heard.responses).toEqual([
        expect.objectContaining({ author: 'openai', content: 'ok' })
      ]);
      expect(openai.requests).toHaveLength(1);
      expect(JSON.stringify(openai.requests)).toContain(request);
      workspace.keys({});
      const second = await summoned(own, { engine: 'gemini' }, 'failed');
      const later = await councilSeen(own, 'alice', 'wait_for_responses', {
        cursor: heard.next_cursor
      });
      expect(later.summons).toMatchObject([
        { agent_id: second.id, agent_name: 'gemini', status: 'failed' }
      ]);
      expect(later.timed_out).toBeUndefined();
      expect(gemini.requests).toEqual([]);
      const { feedback } = councilIn(councilFileOf(workspace));
      expect(feedback.map(({ author }) => author)).toEqual(['openai']);
      expect(first.name).toBe('openai');
    } finally {
      await workspace.close();
    }
  });
});
