import { describe, expect } from 'vitest';
import { createClientStage, mcp, spawnedIn } from './client-stage.ts';
import {
  type Client,
  claudeClient,
  codexClient,
  copilotClient,
  geminiClient
} from './clients.ts';
import { testWith } from './clis.ts';
import { addWiretap, type Message } from './wiretap.ts';

/** Claude Code asks by itself which revision a server speaks. */
const asking: Client = {
  ...claudeClient,
  title: 'claude that asks for the protocol',
  env: (model) => ({
    ...claudeClient.env(model),
    MCP_PROTOCOL_NEGOTIATION: 'auto'
  })
};

/** Clients that call by the later revision, if a server has it. */
const later = [asking.title, 'copilot'];

const key = 'io.modelcontextprotocol/protocolVersion';

for (const client of [asking, codexClient, copilotClient, geminiClient])
  describe(`${client.title} as our client`, () => {
    const test = testWith(client.cli);

    test('it speaks the latest revision that both have', async () => {
      const stage = await createClientStage((turn) => [
        mcp('spawn_rehearsal', { prompt: 'sleep 1\nsay forty-two' }),
        mcp('wait_for_agents', { agent_ids: [spawnedIn(turn)] }),
        { do: 'say', text: `The agent said: ${turn.toolResults.at(-1)}` }
      ]);
      const tap = addWiretap(stage.workspace);
      const answer = await stage.run(client, { through: tap.through });
      expect(answer).toContain('forty-two');
      const heard = tap.heard();
      const calls = heard.filter(({ method }) => method === 'tools/call');
      expect(calls.length).toBeGreaterThanOrEqual(2);
      const isLater = later.includes(client.title);
      for (const call of calls) {
        const revision = Object(call.params._meta)[key];
        expect(revision).toBe(isLater ? '2026-07-28' : undefined);
        expect(answerTo(call, heard)?.result.resultType).toBe(
          isLater ? 'complete' : undefined
        );
      }
      const greetings = heard.filter(({ method }) => method === 'initialize');
      expect(greetings.length > 0).toBe(!isLater);
    });
  });

function answerTo({ id }: Message, heard: Message[]): Message | undefined {
  return heard.find((one) => one.from === 'server' && one.id === id);
}
