import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { hostileText } from '../../kit/judges/hostile-text.ts';
import { done } from '../../kit/servers/council-calls.ts';
import type { McpClient } from '../../kit/servers/mcp-client.ts';
import {
  councilSeen,
  createSummonStage,
  type SummonStage,
  summoned
} from '../../kit/workspaces/summon-stage.ts';

const request = 'Which language?\n\n# Not a heading of ours';

let stage: SummonStage;
let server: McpClient;

beforeEach(async () => {
  stage = createSummonStage();
  server = await stage.serve({ flags: ['--engines', 'oracle,rehearsal'] });
  await done(server, 'start_council', { agent_name: 'alice', request });
});

afterEach(() => stage.close());

describe('an agent that is summoned', () => {
  test("answers once, under its engine's name, and read-only", async () => {
    const { id, name } = await summoned(server);
    expect(name).toBe('oracle');
    const heard = await councilSeen(server, 'alice', 'wait_for_responses');
    expect(heard.responses).toMatchObject([
      { author: 'oracle', content: 'The oracle has spoken.' }
    ]);
    expect(heard.summons).toEqual([]);
    const record = join(stage.record, 'spawns', id, 'record.json');
    expect(JSON.parse(readFileSync(record, 'utf8'))).toMatchObject({
      agent_id: id,
      engine: 'oracle',
      access: 'read'
    });
    expect(stage.asked()).toMatchObject([{ id, access: 'read' }]);
    await stage.marksAre();
  });

  test('is awaited in the eyes of all until it has answered', async () => {
    const other = await stage.serve();
    await councilSeen(other, 'bob', 'join_council');
    stage.hold();
    const { id } = await summoned(server, { agent_name: 'Oracle of Delphi' });
    for (const [who, name] of [
      [server, 'alice'],
      [other, 'bob']
    ] as const) {
      const seen = await councilSeen(who, name);
      expect(seen.summons).toMatchObject([
        { agent_id: id, agent_name: 'Oracle of Delphi', status: 'running' }
      ]);
      expect(seen.participants).toContainEqual({
        agent_name: 'Oracle of Delphi'
      });
    }
    const waiting = councilSeen(other, 'bob', 'wait_for_responses');
    stage.letGo();
    expect((await waiting).responses).toMatchObject([
      { author: 'Oracle of Delphi' }
    ]);
  });

  test('is a second one of its name when it is summoned twice', async () => {
    stage.hold();
    const first = await summoned(server);
    const second = await summoned(server);
    const third = await summoned(server, { agent_name: 'alice' });
    expect([first.name, second.name, third.name]).toEqual([
      'oracle',
      'oracle#2',
      'alice#2'
    ]);
    stage.letGo();
    for (const { id } of [first, second, third]) await stage.settled(id);
    const { responses } = await councilSeen(server, 'alice');
    expect(responses.map(({ author }) => author).sort()).toEqual([
      'alice#2',
      'oracle',
      'oracle#2'
    ]);
  });

  test('gets the request and all responses so far', async () => {
    const words = 'Mine is Rust.\n## alice\n# The responses so far';
    await done(server, 'send_response', { agent_name: 'bob', content: words });
    await stage.settled((await summoned(server)).id);
    stage.answers('Nor that.');
    await stage.settled((await summoned(server)).id);
    const [first = '', second = ''] = stage.asked().map(({ stdin }) => stdin);
    expect(first.startsWith(`${request}\n`)).toBe(true);
    const quoted = words.replaceAll(/^/gm, '> ');
    expect(first).toContain(`\n## bob\n\n${quoted}`);
    expect(first).not.toContain('The oracle has spoken.');
    expect(second).toContain('\n## oracle\n\n> The oracle has spoken.');
    expect(second.indexOf('## bob')).toBeLessThan(second.indexOf('## oracle'));
  });

  test('is a real agent, such as the rehearsal engine', async () => {
    await done(server, 'start_council', {
      agent_name: 'alice',
      request: 'say forty-two\nwrite note.txt no'
    });
    const { id } = await summoned(server, { engine: 'rehearsal' });
    const { responses } = await councilSeen(
      server,
      'alice',
      'wait_for_responses'
    );
    const { data } = await server.call('result', { agent_id: id });
    expect(responses).toMatchObject([
      {
        author: 'rehearsal',
        content: expect.stringContaining(
          'forty-two\n(refused to write note.txt'
        )
      }
    ]);
    expect(responses[0]?.content).toBe(data.result);
  });
});

describe('the words of a summoned agent', () => {
  test('are recorded as they are, however hostile', async () => {
    const samples = fc.sample(hostileText, { numRuns: 40, seed: 7 });
    const text = `x${samples.join('|')}x`;
    stage.answers(text);
    await stage.settled((await summoned(server)).id);
    expect(stage.state().feedback.map(({ content }) => content)).toEqual([
      text
    ]);
    const { responses } = await councilSeen(server, 'alice');
    expect(responses).toMatchObject([{ author: 'oracle', content: text }]);
  });

  test('are recorded whole up to a million characters', async () => {
    const text = `${'한글 😀 '.repeat(166_666)}!!!!`;
    expect(text).toHaveLength(1_000_000);
    stage.answers(text);
    await stage.settled((await summoned(server)).id);
    expect(stage.state().feedback[0]?.content === text).toBe(true);
    const { data } = await server.call('get_current_session_data', {
      agent_name: 'alice'
    });
    expect(JSON.stringify(data).length).toBeLessThan(21_000);
    expect(data).toMatchObject({
      responses: [{ truncated: true, total_chars: text.length }]
    });
  });

  test('are cut behind it, and say which file has them all', async () => {
    const text = 'Line of words.\n'.repeat(100_000);
    stage.answers(text);
    const { id } = await summoned(server);
    await stage.settled(id);
    const { content } = stage.state().feedback[0] ?? { content: '' };
    expect(content.startsWith(text.slice(0, 1_000_000))).toBe(true);
    const file = /\n\n… \[cut: (.*)\]$/.exec(content)?.[1] ?? '';
    expect(readFileSync(file, 'utf8') === text).toBe(true);
  });
});
