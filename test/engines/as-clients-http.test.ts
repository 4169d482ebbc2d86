import { describe, expect } from 'vitest';
import { blocksOf, documentAt, sectionOf } from '../kit/judges/documents.ts';
import { type StartedHttp, startHttp } from '../kit/servers/http-server.ts';
import { replaced } from './client-config.ts';
import { createClientStage, idIn, mcp, spawnedIn } from './client-stage.ts';
import { allClients, type Client } from './clients.ts';
import { testWith } from './clis.ts';

/** As docs/guides/http.md has them. */
const headings: Record<string, string> = {
  claude: '### Claude Code',
  codex: '### Codex',
  copilot: '### Copilot CLI',
  'gemini-cli': '### Gemini CLI'
};

/** The client with the entry of docs/guides/http.md, and its token. */
function over({ url, token }: StartedHttp, client: Client): Client {
  const heading = headings[client.title] ?? '';
  const text = sectionOf(documentAt('docs/guides/http.md'), heading);
  const { file } = client.config;
  const language = file.endsWith('.toml') ? 'toml' : 'json';
  const [block = ''] = blocksOf({ path: heading, text }, language);
  return {
    ...client,
    example: () => replaced(block, /http:\/\/127\.0\.0\.1:8377\/mcp/g, url),
    env: (model) => ({ ...client.env(model), TROUPE_HTTP_TOKEN: token })
  };
}

for (const client of allClients)
  describe(`${client.title} as our client over HTTP`, () => {
    const test = testWith(client.cli);

    test('its model spawns an agent, waits and reads the answer', async () => {
      const stage = await createClientStage((turn) => [
        mcp('spawn_rehearsal', { prompt: 'sleep 1\nsay forty-two' }),
        mcp('wait_for_agents', { agent_ids: [spawnedIn(turn)] }),
        { do: 'say', text: `The agent said: ${turn.toolResults.at(-1)}` }
      ]);
      const server = await startHttp(stage.workspace);
      const answer = await stage.run(over(server, client));
      const told = server.command.stderr;
      expect(await server.end()).toBe(0);
      expect(answer).toContain('forty-two');
      expect(idIn(stage.results[0] ?? '')).toBeDefined();
      // Nothing went wrong that only the server knows.
      expect(told.trim().split('\n')).toHaveLength(3);
    });
  });
