import { existsSync, rmSync } from 'node:fs';
import { expect, test, vi } from 'vitest';
import { until } from '../../../../test/kit/judges/until.ts';
import {
  hireWorker,
  hostHere
} from '../../../../test/kit/servers/host-here.ts';
import { orchestratorTools } from './orchestrator.ts';

const agent_id = '1a2b3c4d';

test('the events that were read are in the workspace, and a poll without a new one writes nothing', async () => {
  const here = await hostHere();
  const { log, folder } = hireWorker(here, agent_id);
  await log.change(() => ({ events: [{ type: 'progress' }], result: 0 }));
  const { directory, outbox } = folder.paths();
  rmSync(directory, { recursive: true });
  const tools = orchestratorTools(here.host);
  const read = tools.find(({ name }) => name === 'events_read');
  const lastSince = async (since_seq: number) => {
    const input = { agent_id, since_seq };
    const answer = await Object(read).call(input, { clientName: 'a client' });
    return answer.structuredContent.last_seq;
  };
  expect(await lastSince(1)).toBe(1);
  expect(existsSync(outbox)).toBe(false);
  expect(await lastSince(0)).toBe(1);
  await until('the copy', () => existsSync(outbox));
});

test('a worker is ended by force only if that is asked for', async () => {
  const here = await hostHere();
  hireWorker(here, agent_id);
  const { orchestrator } = here.host;
  const asked = vi.spyOn(orchestrator, 'delete');
  const tools = orchestratorTools(here.host);
  const end = tools.find(({ name }) => name === 'agent_delete');
  await Object(end).call({ agent_id }, { clientName: 'a client' });
  expect(asked.mock.calls[0]?.[1]).toMatchObject({
    force: false,
    confirm: false
  });
});
