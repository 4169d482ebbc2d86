import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect } from 'vitest';
import { until } from '../kit/judges/until.ts';
import { councilFileOf, councilIn } from '../kit/servers/council-servers.ts';
import { councilSeen, summoned } from '../kit/workspaces/summon-stage.ts';
import type { Action, Turn } from '../model-server/actions.ts';
import { createClientStage, mcp } from './client-stage.ts';
import { type Client, claudeClient, codexClient } from './clients.ts';
import { claude, codex, testWith } from './clis.ts';
import { factsIn } from './shown.ts';
import { createStage } from './stage.ts';

const request = 'Which "name"?\n\n- 한글\n- 😀';
const words = { opener: 'I say "forty\\two".', guest: 'Mine:\n\n## 一 😀' };
const conclusion = 'Then both.';

/** The API through which the model of each is asked. */
const apis = { claude: 'messages', codex: 'responses' };

const pairs: [opener: Client, guest: Client][] = [
  [claudeClient, codexClient],
  [codexClient, claudeClient]
];

for (const [opener, guest] of pairs)
  describe(`a council of ${opener.title} with ${guest.title}`, () => {
    const test = testWith(claude, codex);

    test('goes from the request to the conclusion, heard by both', async () => {
      const stage = await createClientStage((turn) =>
        turn.api === apiOf(opener) ? opening(turn) : joining(turn)
      );
      const path = councilFileOf(stage.workspace);
      const opened = stage.run(opener);
      opened.catch(() => undefined);
      await until(
        'the council',
        () => existsSync(path) && councilIn(path).session !== null,
        60_000
      );
      const joined = stage.run(guest);
      expect(await Promise.all([opened, joined])).toEqual([
        'Closed.',
        'Heard.'
      ]);

      const shownTo = (client: Client) =>
        (
          stage.turns.findLast(({ api }) => api === apiOf(client))
            ?.toolResults ?? []
        ).map(factsIn);
      const response = (author: keyof typeof words) => ({
        author,
        content: words[author]
      });
      expect(shownTo(opener)).toContainEqual(
        expect.objectContaining({
          responses: [expect.objectContaining(response('guest'))]
        })
      );
      const [first] = shownTo(guest);
      expect(first).toMatchObject({
        status: 'active',
        request: { content: request, created_by: 'opener' }
      });
      expect(shownTo(guest).at(-1)).toMatchObject({
        status: 'closed',
        conclusion: { author: 'opener', content: conclusion }
      });

      const { session, requests, feedback, participants } = councilIn(path);
      expect(session).toMatchObject({
        status: 'closed',
        conclusion: { author: 'opener', content: conclusion }
      });
      expect(requests).toMatchObject([
        { content: request, created_by: 'opener', status: 'closed' }
      ]);
      expect(feedback).toMatchObject([response('guest'), response('opener')]);
      const owners = participants.map(({ agent_name, owner }) => [
        agent_name,
        owner?.pid
      ]);
      expect(owners.map(([name]) => name)).toEqual(['opener', 'guest']);
      expect(new Set(owners.map(([, pid]) => pid)).size).toBe(2);
    });
  });

for (const cli of [claude, codex])
  describe(`${cli.name} summoned to a council`, () => {
    const test = testWith(cli);

    test('answers the request and changes nothing', async () => {
      const stage = await createStage(cli);
      const file = join(stage.workspace.path, 'no.txt');
      const asked = `[[shell: echo no > ${file}]] [[say: I may "not" 😀]]`;
      await stage.server.call('start_council', {
        agent_name: 'alice',
        request: asked
      });
      const { id } = await summoned(stage.server, { engine: cli.name });
      await stage.result(id);
      const { responses, summons } = await councilSeen(
        stage.server,
        'alice',
        'wait_for_responses'
      );
      expect(responses).toEqual([
        { author: cli.name, content: 'I may "not" 😀' }
      ]);
      expect(summons).toEqual([]);
      expect(existsSync(file)).toBe(false);
    });

    test('is reported as failed when its key is refused', async () => {
      const stage = await createStage(cli);
      await stage.server.call('start_council', {
        agent_name: 'alice',
        request: '[[status: 401 | Wrong key]]'
      });
      const { id } = await summoned(stage.server, { engine: cli.name });
      const { responses, summons } = await councilSeen(
        stage.server,
        'alice',
        'wait_for_responses'
      );
      expect(responses).toEqual([]);
      expect(summons).toMatchObject([
        { agent_id: id, status: 'failed', error_code: 'auth' }
      ]);
    });
  });

function apiOf({ title }: Client): string | undefined {
  return new Map(Object.entries(apis)).get(title);
}

function opening({ toolResults: [started, ...heard] }: Turn): Action[] {
  const agent_name = 'opener';
  return [
    mcp('start_council', { agent_name, request }),
    ...waitingUntil(agent_name, started === undefined ? [] : heard, hasHeard),
    mcp('send_response', { agent_name, content: words.opener }),
    mcp('close_council', { agent_name, conclusion }),
    say('Closed.')
  ];
}

function joining({ toolResults: [, , ...heard] }: Turn): Action[] {
  const agent_name = 'guest';
  return [
    mcp('join_council', { agent_name }),
    mcp('send_response', { agent_name, content: words.guest }),
    ...waitingUntil(agent_name, heard, hasEnded),
    say('Heard.')
  ];
}

/** As many waits as it takes on this machine. */
function waitingUntil(
  agent_name: string,
  shown: string[],
  isEnough: (shown: string) => boolean
): Action[] {
  const enough = shown.findIndex(isEnough);
  const count = enough < 0 ? shown.length : enough;
  const wait = mcp('wait_for_responses', { agent_name });
  return Array.from({ length: count + 1 }, () => wait);
}

function hasHeard(shown: string): boolean {
  const { responses } = factsIn(shown);
  return Array.isArray(responses) && responses.length > 0;
}

function hasEnded(shown: string): boolean {
  return factsIn(shown).status === 'closed';
}

function say(text: string): Action {
  return { do: 'say', text };
}
