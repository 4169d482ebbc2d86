import { describe, expect } from 'vitest';
import type { Action } from '../model-server/actions.ts';
import { createClientStage, mcp, spawnedIn } from './client-stage.ts';
import { allClients } from './clients.ts';
import { testWith } from './clis.ts';
import { factsIn } from './shown.ts';
import { addWiretap, type Message } from './wiretap.ts';

/** Ends before the first news of a wait is due, which is then missed. */
const callSeconds = 4;

for (const client of allClients)
  describe(`an agent that outlives a call of ${client.title}`, () => {
    const test = testWith(client.cli);

    test('goes on when the client gives the wait up, which lets it go', async () => {
      const stage = await createClientStage((turn) => {
        const wait = mcp('wait_for_agents', { agent_ids: [spawnedIn(turn)] });
        const waits = turn.toolResults.slice(1);
        const isOver = waits.at(-1)?.includes('outlived') ?? false;
        return [
          mcp('spawn_rehearsal', { prompt: 'sleep 8\nsay I outlived it' }),
          ...waits.map(() => wait),
          isOver || waits.length > 5 ? say('Over.') : wait
        ];
      });
      const tap = addWiretap(stage.workspace);
      const { through } = tap;
      expect(await stage.run(client, { callSeconds, through })).toBe('Over.');
      const [, ...waits] = stage.results;
      expect(waits.length).toBeGreaterThan(1);
      expect(factsIn(waits.at(-1) ?? '')).toMatchObject({
        status: 'all_completed',
        results: [
          {
            status: 'completed',
            result: expect.stringContaining('I outlived it')
          }
        ]
      });
      const heard = tap.heard();
      const givenUp = heard.findIndex(
        ({ from, method }) =>
          from === 'client' && method === 'notifications/cancelled'
      );
      const id = heard[givenUp]?.params.requestId;
      const wait = heard.find((one) => one.from === 'client' && one.id === id);
      expect(wait?.params).toMatchObject({ name: 'wait_for_agents' });
      expect(heard.slice(givenUp).filter(isAbout(wait))).toEqual([]);
    });

    test('is reported as such when the wait is short enough', async () => {
      const stage = await createClientStage((turn) => [
        mcp('spawn_rehearsal', { prompt: 'sleep 2\nsay I outlived it' }),
        mcp('wait_for_agents', { agent_ids: [spawnedIn(turn)], timeout: 0.5 }),
        mcp('wait_for_agents', { agent_ids: [spawnedIn(turn)] }),
        say('Over.')
      ]);
      expect(await stage.run(client)).toBe('Over.');
      const [spawned, first, second] = stage.results.map(factsIn);
      expect(first).toMatchObject({
        status: 'timeout',
        still_running: [spawned?.agent_id],
        completed_results: [],
        message: expect.stringContaining('Call wait_for_agents again')
      });
      expect(second).toMatchObject({
        status: 'all_completed',
        results: [{ result: expect.stringContaining('I outlived it') }]
      });
    });

    const title = client.handsKeyOn ? 'has' : 'has not';
    test(`belongs to a server that ${title} the user's key`, async () => {
      const stage = await createClientStage(() => [mcp('list'), say('Over.')]);
      const tap = addWiretap(stage.workspace);
      const { through } = tap;
      expect(await stage.run(client, { through })).toBe('Over.');
      expect(tap.variable('ANTHROPIC_API_KEY')).toBe(
        client.handsKeyOn ? 'test-key' : undefined
      );
    });
  });

/** An answer to a call, or news of how far it is. */
function isAbout(call: Message | undefined) {
  const token = (call?.params._meta as { progressToken?: unknown } | undefined)
    ?.progressToken;
  return ({ from, id, params }: Message) =>
    from === 'server' &&
    (id === call?.id ||
      (token !== undefined && params.progressToken === token));
}

function say(text: string): Action {
  return { do: 'say', text };
}
