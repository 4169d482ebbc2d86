import { readFileSync } from 'node:fs';
import { describe, expect } from 'vitest';
import type { Action, Turn } from '../model-server/actions.ts';
import { type Json, record, records, string } from '../model-server/json.ts';
import { createClientStage, mcp, spawnedIn } from './client-stage.ts';
import { allClients, plainCodexClient } from './clients.ts';
import { testWith } from './clis.ts';
import { factsIn } from './shown.ts';

/** Each longer than every client passes on, in characters or in bytes. */
const texts = {
  plain: numbered('a word and another, '),
  'other scripts and quotes': numbered('한국어 "단어" 👩‍💻 \\n ')
};

for (const client of [...allClients, plainCodexClient])
  describe(`a long answer through ${client.title}`, () => {
    const test = testWith(client.cli);

    for (const [what, text] of Object.entries(texts))
      test(`is read on to its end, character for character: ${what}`, async () => {
        const prompt = text.replaceAll(/^/gm, 'say ');
        const stage = await createClientStage((turn) => [
          mcp('spawn_rehearsal', { prompt }),
          mcp('wait_for_agents', { agent_ids: [spawnedIn(turn)] }),
          ...readingOn(turn)
        ]);
        expect(await stage.run(client)).toBe('Read.');
        const [, waited = '', ...pages] = stage.results;
        const first = ended(waited);
        expect(first).toMatchObject({
          truncated: true,
          total_chars: expect.any(Number),
          next_offset: expect.any(Number),
          message: expect.stringContaining(`offset ${first.next_offset}`)
        });
        const page = readFileSync(string(first.full_output), 'utf8');
        const head = string(first.result).slice(0, Number(first.next_offset));
        const rest = pages.map((page) => string(factsIn(page).result));
        const whole = [head, ...rest].join('');
        expect(whole).toContain(text);
        expect(whole.length).toBe(first.total_chars);
        expect(page).toContain(whole);
      });

    test('of so many agents that only how they ended has room', async () => {
      const count = 60;
      const stage = await createClientStage((turn) => [
        mcp('wait_for_agents', { agent_ids: ids }),
        { do: 'say', text: turn.toolResults.length > 0 ? 'Read.' : '' }
      ]);
      const other = await stage.serve();
      const spawning = Array.from({ length: count }, () =>
        other.call('spawn_rehearsal', { prompt: 'fail network Gone.' })
      );
      const ids = (await Promise.all(spawning)).map(({ data }) =>
        string(data.agent_id)
      );
      expect(await stage.run(client)).toBe('Read.');
      const { status, results } = factsIn(stage.results[0] ?? '');
      expect(status).toBe('all_completed');
      const told = records(results).map(({ agent_id, error_code }) => ({
        agent_id,
        error_code
      }));
      expect(told.sort(byId)).toEqual(
        ids.map((agent_id) => ({ agent_id, error_code: 'network' })).sort(byId)
      );
    });
  });

/** Follows `next_offset` as far as it leads. */
function readingOn(turn: Turn): Action[] {
  const [, waited, ...pages] = turn.toolResults;
  if (waited === undefined) return [];
  const agent_id = spawnedIn(turn);
  const offsets = [ended(waited), ...pages.map(factsIn)].flatMap(
    ({ next_offset }) => (typeof next_offset === 'number' ? [next_offset] : [])
  );
  return [
    ...offsets.map((offset) => mcp('result', { agent_id, offset })),
    { do: 'say', text: 'Read.' }
  ];
}

function ended(waited: string): Json {
  return record(records(factsIn(waited).results)[0]);
}

function numbered(words: string): string {
  return Array.from(
    { length: 300 },
    (_, line) => `${line} ${words.repeat(8)}.`
  ).join('\n');
}

function byId(one: { agent_id: unknown }, other: { agent_id: unknown }) {
  return string(one.agent_id) < string(other.agent_id) ? -1 : 1;
}
