import { readFileSync } from 'node:fs';
import { describe, expect } from 'vitest';
import type { Action, Turn } from '../model-server/actions.ts';
import { record, records, string } from '../model-server/json.ts';
import { createClientStage, mcp } from './client-stage.ts';
import { allClients, claudeClient, codexClient } from './clients.ts';
import { testWith } from './clis.ts';
import { factsIn } from './shown.ts';

const flags = ['--engines', 'rehearsal', '--engine', 'rehearsal'];

for (const client of allClients)
  describe(`a squad through ${client.title}`, () => {
    const test = testWith(client.cli);

    test('its model lists the roles and sees what each member said', async () => {
      const stage = await createClientStage(() => [
        mcp('list_roles'),
        squadOf(
          ['qa-engineer', 'say forty-two'],
          ['architect', 'fail rate_limited Slow down.'],
          ['qa-engineer', 'sleep 0.5\nsay "forty\\three" 한글 😀']
        ),
        say('Seen.')
      ]);
      expect(await stage.run(client, { flags })).toBe('Seen.');
      const [listed, started] = stage.results.map(factsIn);
      const roles = records(listed?.roles);
      const ids = roles.map(({ id }) => id);
      for (const id of ['architect', 'frontend-developer', 'qa-engineer'])
        expect(ids).toContain(id);
      for (const { description } of roles) expect(description).not.toBe('');
      const said = (text: string) => expect.stringContaining(text);
      expect(started).toMatchObject({
        squadId: expect.stringMatching(/^squad-[0-9a-f]{8}$/),
        members: [
          { roleId: 'qa-engineer', result: said('forty-two') },
          { roleId: 'architect', status: 'error', error: said('Slow down.') },
          { status: 'completed', result: said('"forty\\three" 한글 😀') }
        ]
      });
    });

    test('long answers of its members are read on to their ends', async () => {
      const stage = await createClientStage((turn) => [
        squadOf(['architect', script('word ')], ['planner', script('"말" 😀')]),
        ...readingOn(turn)
      ]);
      expect(await stage.run(client, { flags })).toBe('Read.');
      const [started = '', ...pages] = stage.results.map(factsIn);
      for (const one of records(record(started).members)) {
        const own = pages.filter(({ agent_id }) => agent_id === one.agentId);
        const whole = readFileSync(string(own[0]?.full_output), 'utf8');
        const head = string(one.result).slice(0, Number(one.next_offset));
        const rest = own.map(({ result }) => string(result));
        expect(whole).toContain([head, ...rest].join(''));
      }
    });
  });

for (const client of [claudeClient, codexClient])
  describe(`a squad that outlives a call of ${client.title}`, () => {
    const test = testWith(client.cli);

    test('goes on, and list names its squadId for the wait', async () => {
      const stage = await createClientStage(({ toolResults }) => {
        const [, listed, ...waits] = toolResults;
        const wait = mcp('wait_for_agents', { squadId: squadIdIn(listed) });
        const isOver = waits.at(-1)?.includes('all_completed') ?? false;
        return [
          squadOf(
            ['architect', 'sleep 9\nsay I outlived it'],
            ['planner', 'say I did not']
          ),
          mcp('list'),
          ...waits.map(() => wait),
          isOver || waits.length > 5 ? say('Over.') : wait
        ];
      });
      const session = { flags, callSeconds: 4 };
      expect(await stage.run(client, session)).toBe('Over.');
      const [started, , ...waits] = stage.results;
      expect(started).not.toContain('squad-');
      const said = (text: string) => ({
        status: 'completed',
        result: expect.stringContaining(text)
      });
      expect(factsIn(waits.at(-1) ?? '')).toMatchObject({
        status: 'all_completed',
        results: expect.arrayContaining([
          expect.objectContaining(said('I outlived it')),
          expect.objectContaining(said('I did not'))
        ])
      });
    });
  });

function squadIdIn(shown = ''): string {
  return /squad-[0-9a-f]{8}/.exec(shown)?.[0] ?? '';
}

function squadOf(...asked: [roleId: string, task: string][]): Action {
  const members = asked.map(([roleId, task]) => ({ roleId, task }));
  return mcp('start_squad_members', { members });
}

/** Makes a member say more than any client passes on. */
function script(words: string): string {
  return Array.from(
    { length: 300 },
    (_, line) => `say ${line} ${words.repeat(10)}`
  ).join('\n');
}

/** Follows the `next_offset` of each member as far as it leads. */
function readingOn({ toolResults }: Turn): Action[] {
  const [started, ...shown] = toolResults;
  if (started === undefined) return [];
  const pages = shown.map(factsIn);
  const calls: Action[] = [];
  for (const { agentId, next_offset } of records(factsIn(started).members)) {
    let next = next_offset;
    while (typeof next === 'number') {
      calls.push(mcp('result', { agent_id: agentId, offset: next }));
      if (calls.length > pages.length) return calls;
      next = pages[calls.length - 1]?.next_offset;
    }
  }
  return [...calls, say('Read.')];
}

function say(text: string): Action {
  return { do: 'say', text };
}
