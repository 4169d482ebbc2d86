import { describe, expect } from 'vitest';
import { createClientStage, mcp, spawnedIn } from './client-stage.ts';
import { allClients, plainCodexClient } from './clients.ts';
import { claude, testWith } from './clis.ts';
import { factsIn, firstSteps, offersTo } from './shown.ts';

for (const client of [...allClients, plainCodexClient])
  describe(`what the model of ${client.title} is shown`, () => {
    const test = testWith(client.cli);

    test('every tool there is, by the name of the client', async () => {
      const stage = await createClientStage((turn) => [
        ...firstSteps(turn),
        { do: 'say', text: 'Seen.' }
      ]);
      expect(await stage.run(client, { flags: [] })).toBe('Seen.');
      const env: Record<string, string> = client.handsKeyOn ? claude.login : {};
      const other = await stage.serve({ flags: [], env });
      const { tools } = await other.request('tools/list');
      const names = (tools as { name: string }[]).map(({ name }) => name);
      expect(names.includes('spawn_claude_api')).toBe(client.handsKeyOn);
      const offered = stage.turns
        .flatMap(offersTo)
        .map(({ name }) => name)
        .filter((name) => name.startsWith(client.nameOf('')));
      expect([...new Set(offered)].sort()).toEqual(
        names.map(client.nameOf).sort()
      );
    });

    test('every fact of an answer', async () => {
      const stage = await createClientStage((turn) => [
        mcp('spawn_rehearsal', { prompt: 'say "forty\\two" 한글 😀' }),
        mcp('wait_for_agents', { agent_ids: [spawnedIn(turn)] }),
        mcp('result', { agent_id: spawnedIn(turn) }),
        mcp('list'),
        { do: 'say', text: 'Seen.' }
      ]);
      expect(await stage.run(client)).toBe('Seen.');
      const [spawned, waited, result, listed] = stage.results.map(factsIn);
      const agent_id = expect.stringMatching(/^[0-9a-f]{8}$/);
      expect(spawned).toMatchObject({
        agent_id,
        agent_type: 'rehearsal',
        status: 'running',
        message: expect.stringMatching(
          `Next: wait_for_agents {"agent_ids":\\["${spawned?.agent_id}"\\]}`
        )
      });
      const ended = {
        agent_id: spawned?.agent_id,
        status: 'completed',
        success: true,
        result: expect.stringMatching(/\n"forty\\two" 한글 😀$/),
        full_output: expect.stringMatching(/logs\/agents\/[0-9a-f]{8}\.md$/)
      };
      expect(waited).toMatchObject({
        status: 'all_completed',
        results: [ended]
      });
      expect(result).toMatchObject(ended);
      // A text for people leaves it out.
      expect(result?.error ?? null).toBeNull();
      expect(listed).toMatchObject({
        running: [],
        completed_ids: [spawned?.agent_id],
        tip: expect.stringContaining('result')
      });
    });

    test('why an agent failed, which is no error of the call', async () => {
      const stage = await createClientStage((turn) => [
        mcp('spawn_rehearsal', { prompt: 'fail rate_limited Slow down.' }),
        mcp('wait_for_agents', { agent_ids: [spawnedIn(turn)] }),
        { do: 'say', text: 'Seen.' }
      ]);
      expect(await stage.run(client)).toBe('Seen.');
      expect(factsIn(stage.results[1] ?? '')).toMatchObject({
        status: 'all_completed',
        results: [
          {
            success: false,
            status: 'failed',
            error_code: 'rate_limited',
            error: expect.stringContaining('Slow down.')
          }
        ]
      });
    });

    test('what was wrong with a call, and what to do', async () => {
      const stage = await createClientStage(() => [
        mcp('wait_for_agents', { agent_ids: ['00000000'] }),
        mcp('spawn_rehearsal', { prompt: 'say no', cwd: '../..' }),
        // Against the schema, which some clients hold it to themselves.
        mcp('result', { agent_id: '00000000', offset: -1 }),
        { do: 'say', text: 'Seen.' }
      ]);
      expect(await stage.run(client)).toBe('Seen.');
      const [unknown, outside, wrong] = stage.results.map(withoutEscapes);
      expect(unknown).toContain('"error_code":"unknown_agent"');
      expect(unknown).toContain('the list of agents has all ids');
      expect(outside).toContain('"error_code":"cwd_outside"');
      expect(outside).toMatch(/"hint":"[^"]+"/);
      expect(wrong).toMatch(
        /"error_code":"invalid_input".*Parameters of result|params\/offset must be/
      );
    });
  });

/** Gemini CLI shows an error as JSON in JSON in JSON. */
function withoutEscapes(shown: string): string {
  return shown.replaceAll('\\', '');
}
