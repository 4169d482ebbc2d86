import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect } from 'vitest';
import { until } from '../kit/judges/until.ts';
import { createClientStage, idIn, mcp, spawnedIn } from './client-stage.ts';
import { allClients, claudeClient } from './clients.ts';
import { claude, codex, testWith } from './clis.ts';
import { configure } from './stage.ts';

for (const client of allClients)
  describe(`${client.title} as our client`, () => {
    const test = testWith(client.cli);

    test('its model spawns an agent, waits and reads the answer', async () => {
      const stage = await createClientStage((turn) => [
        mcp('spawn_rehearsal', { prompt: 'sleep 1\nsay forty-two' }),
        mcp('wait_for_agents', { agent_ids: [spawnedIn(turn)] }),
        mcp('result', { agent_id: spawnedIn(turn) }),
        { do: 'say', text: `The agent said: ${turn.toolResults.at(-1)}` }
      ]);
      const answer = await stage.run(client);
      expect(answer).toContain('The agent said:');
      expect(answer).toContain('forty-two');
      const [spawned = '', waited = '', result = ''] = stage.results;
      expect(spawned).toMatch(/rehearsal/i);
      expect(waited).toContain('all_completed');
      for (const seen of [waited, result]) expect(seen).toContain('forty-two');
    });

    test('its agent and that of another server see each other', async () => {
      const stage = await createClientStage((turn) => [
        mcp('spawn_rehearsal', { prompt: 'hang' }),
        mcp('list', {}),
        mcp('wait_for_agents', { agent_ids: idsIn(turn.toolResults[1]) }),
        { do: 'say', text: `${turn.toolResults[2]}` }
      ]);
      const other = await stage.serve();
      const { data } = await other.call('spawn_rehearsal', { prompt: 'hang' });
      const outside = String(data.agent_id);
      const ending = stage.run(client);
      const listed = await until('its list', () => stage.results[1]);
      const inside = idIn(stage.results[0] ?? '') ?? '';
      expect(idsOf((await other.call('list')).data.running).sort()).toEqual(
        [inside, outside].sort()
      );
      for (const agent_id of [inside, outside])
        await other.call('cancel_agent', { agent_id, reason: 'Seen.' });
      const answer = await ending;
      for (const id of [inside, outside]) {
        expect(listed).toContain(id);
        expect(answer).toContain(id);
      }
      expect(answer).toContain('Canceled: Seen.');
    });

    test('our server is killed in its session: the next has the result', async () => {
      const stage = await createClientStage((turn) => [
        mcp('spawn_rehearsal', { prompt: 'sleep 3\nsay survived' }),
        // By then the server is gone: what it says does not matter.
        ...(turn.toolResults.length > 0
          ? [{ do: 'sleep', ms: 1500 } as const]
          : []),
        mcp('list', {}),
        { do: 'say', text: 'I am still here.' }
      ]);
      const ending = stage.run(client);
      const id = await until('the spawn', () => idIn(stage.results[0] ?? ''));
      process.kill(stage.ownerOf(id), 'SIGKILL');
      expect(await ending).toBe('I am still here.');
      const next = await stage.serve();
      const { data } = await next.call('wait_for_agents', { agent_ids: [id] });
      expect(data).toMatchObject({
        status: 'all_completed',
        results: [
          { status: 'completed', result: expect.stringContaining('survived') }
        ]
      });
    });
  });

describe('claude delegates to codex', () => {
  const test = testWith(claude, codex);

  test("Codex's answer comes back to Claude's model", async () => {
    const stage = await createClientStage((turn) => [
      mcp('spawn_codex', {
        prompt: '[[shell: printf hi > note.txt]] [[say: Codex was here.]]'
      }),
      mcp('wait_for_agents', { agent_ids: [spawnedIn(turn)] }),
      { do: 'say', text: `${turn.toolResults.at(-1)}` }
    ]);
    const { workspace, model } = stage;
    configure(workspace, { codex: { baseUrl: model.url } });
    const answer = await stage.run(claudeClient, { flags: [] });
    expect(answer).toContain('Codex was here.');
    expect(readFileSync(join(workspace.path, 'note.txt'), 'utf8')).toBe('hi');
    const paths = model.requests.map(({ path }) => path);
    expect(paths).toContain('/responses');
  });
});

/** Every agent that an answer of `list` names. */
function idsIn(answer = ''): string[] {
  const ids = answer.matchAll(/\bid\W+([0-9a-f]{8})\b/g);
  return [...new Set([...ids].map(([, id = '']) => id))];
}

function idsOf(running: unknown): string[] {
  return (running as { id: string }[]).map(({ id }) => id);
}
