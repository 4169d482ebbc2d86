import { describe, expect } from 'vitest';
import type { McpClient } from '../kit/servers/mcp-client.ts';
import type { Offer } from '../model-server/actions.ts';
import { type Json, records } from '../model-server/json.ts';
import { createClientStage } from './client-stage.ts';
import { allClients, plainCodexClient } from './clients.ts';
import { claude, testWith } from './clis.ts';
import { bestOffer, literalModel, nextCall } from './literal-model.ts';
import { firstSteps, offersTo } from './shown.ts';

for (const client of [...allClients, plainCodexClient])
  describe(`a model that follows our words alone in ${client.title}`, () => {
    const test = testWith(client.cli);

    test('spawns, waits, and has the answer without a call too many', async () => {
      const text = 'sleep 1\nsay forty-two';
      const wish = 'Let the rehearsal agent do this in the background.';
      const stage = await createClientStage((turn) =>
        literalModel({ wish, text }, turn)
      );
      expect(JSON.parse(await stage.run(client))).toMatchObject({
        status: 'all_completed',
        results: [{ result: expect.stringContaining('forty-two') }]
      });
      const steps = stage.turns.slice(0, 1).flatMap(firstSteps).length;
      expect(stage.results.length - steps).toBe(2);
    });

    test('reads a long answer on to its end', async () => {
      const lines = Array.from(
        { length: 800 },
        (_, line) => `say line ${line}`
      );
      const text = `${lines.join(' and the same once more\n')} is the last`;
      const wish = 'Let the rehearsal agent do this in the background.';
      const stage = await createClientStage((turn) =>
        literalModel({ wish, text }, turn)
      );
      const answer = await stage.run(client);
      expect(JSON.parse(answer).result).toMatch(/line 799 is the last$/);
      expect(stage.results.join('')).toContain('line 400 and the same');
    });

    test('asks several for a second opinion', async () => {
      const wish = 'Get a second opinion from several engines.';
      const text = 'say VERDICT: Yes.';
      const stage = await createClientStage((turn) =>
        literalModel({ wish, text }, turn)
      );
      expect(JSON.parse(await stage.run(client))).toMatchObject({
        status: 'all_completed',
        opinions: [{ engine: 'rehearsal', verdict: 'Yes.' }]
      });
    });

    test('finds the tool of each engine among all that are offered', async () => {
      const stage = await createClientStage((turn) => [
        ...firstSteps(turn),
        { do: 'say', text: 'Seen.' }
      ]);
      await stage.run(client, { flags: [] });
      const offers = stage.turns.slice(-1).flatMap(offersTo);
      for (const engine of ['claude', 'codex', 'copilot', 'grok', 'mistral'])
        expect(bestOffer(`Let ${engine} do it.`, offers).name).toBe(
          client.nameOf(`spawn_${engine}`)
        );
    });
  });

const test = testWith(claude);

test('every answer that leaves something to do leads to the right call', async () => {
  const stage = await createClientStage(() => []);
  const server = await stage.serve();
  const offers = await offersOf(server);
  const asked = async (tool: string, input: Json = {}) =>
    nextCall((await server.call(tool, input)).data, offers);
  const unknown = { agent_id: '00000000' };
  const list = { offer: { name: 'list' }, arguments: {} };
  expect(await asked('result', unknown)).toMatchObject(list);
  expect(await asked('cancel_agent', unknown)).toMatchObject(list);
  const spawned = await asked('spawn_rehearsal', {
    prompt: 'hang',
    timeout: 60
  });
  const ids = spawned?.arguments.agent_ids;
  const [agent_id] = Array.isArray(ids) ? ids : [];
  const wait = { offer: { name: 'wait_for_agents' } };
  const waitForIt = { ...wait, arguments: { agent_ids: [agent_id] } };
  expect(spawned).toMatchObject(waitForIt);
  expect(await asked('wait_for_agents', { timeout: 0 })).toMatchObject(
    waitForIt
  );
  expect(await asked('result', { agent_id })).toMatchObject(waitForIt);
  expect(await asked('list')).toMatchObject(wait);
  expect(await asked('cancel_agent', { agent_id })).toMatchObject({
    offer: { name: 'result' },
    arguments: { agent_id }
  });
  expect(await asked('result', { agent_id })).toBeUndefined();
  expect(await asked('wait_for_agents')).toBeUndefined();
});

test('so does every answer about a squad', async () => {
  const stage = await createClientStage(() => []);
  const squads = ['--engines', 'rehearsal', '--engine', 'rehearsal'];
  const server = await stage.serve({ flags: squads });
  const offers = await offersOf(server);
  const asked = async (tool: string, input: Json) =>
    nextCall((await server.call(tool, input)).data, offers);
  const start = (roleId: string) =>
    asked('start_squad_members', {
      members: [{ roleId, task: 'sleep 8' }],
      background: true
    });
  expect(await start('nobody')).toMatchObject({
    offer: { name: 'list_roles' }
  });
  const started = await start('architect');
  const squadId = started?.arguments.squadId;
  const waitForIt = {
    offer: { name: 'wait_for_agents' },
    arguments: { squadId }
  };
  expect(started).toMatchObject(waitForIt);
  expect(squadId).toMatch(/^squad-/);
  expect(await asked('wait_for_agents', { squadId, timeout: 0 })).toMatchObject(
    waitForIt
  );
  expect(
    await asked('wait_for_agents', { squadId: 'squad-00000000' })
  ).toMatchObject({ offer: { name: 'list' } });
  const { running } = (await server.call('list')).data;
  for (const { id } of records(running))
    await server.call('cancel_agent', { agent_id: id });
});

async function offersOf(server: McpClient): Promise<Offer[]> {
  const { tools } = await server.request('tools/list');
  return records(tools).map(({ name, description, inputSchema }) => ({
    name: String(name),
    description: String(description),
    schema: inputSchema as Json
  }));
}
