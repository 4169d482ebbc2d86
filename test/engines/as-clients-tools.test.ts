import { describe, expect } from 'vitest';
import type { Action, Turn } from '../model-server/actions.ts';
import { record, records, string } from '../model-server/json.ts';
import { createClientStage } from './client-stage.ts';
import { allClients, type Client, plainCodexClient } from './clients.ts';
import { testWith } from './clis.ts';
import { firstSteps, offersTo } from './shown.ts';

const tool = 'spawn_claude';

for (const client of [...allClients, plainCodexClient])
  describe(`what ${client.title} hands to its model of a tool`, () => {
    const test = testWith(client.cli);

    test('is name, description and input schema, and no more', async () => {
      const stage = await createClientStage((turn) => look(turn, client));
      await stage.run(client, { flags: [] });
      const server = await stage.serve({ flags: [] });
      const { tools } = await server.request('tools/list');
      const ours = records(tools).find(({ name }) => name === tool) ?? {};
      const offer = stage.turns
        .slice(-1)
        .flatMap(offersTo)
        .find(({ name }) => name === client.nameOf(tool));
      expect(offer?.description).toContain(ours.description);
      const { properties } = record(ours.inputSchema);
      expect(Object.keys(record(offer?.schema?.properties))).toEqual(
        expect.arrayContaining(Object.keys(record(properties)))
      );
      const seen = JSON.stringify(stage.model.requests);
      expect(seen).toContain(string(ours.description).slice(0, 60));
      expect(ours.title).toBe('Spawn Claude');
      for (const kept of ['Spawn Claude', 'destructiveHint', 'openWorldHint'])
        expect(seen, kept).not.toContain(kept);
    });
  });

/** Claude Code and Codex list names first and describe a tool on request. */
function look(turn: Turn, client: Client): Action[] {
  const name = client.nameOf(tool);
  const isNamedOnly = turn.offers.some(
    (offer) => offer.name === name && offer.schema === undefined
  );
  if (!isNamedOnly) return [...firstSteps(turn), { do: 'say', text: 'Seen.' }];
  const input = { query: `select:${name}`, max_results: 1 };
  return [{ do: 'tool', name: 'ToolSearch', arguments: input }];
}
