import { afterEach, beforeEach, expect, test } from 'vitest';
import { seededRandom } from '../../kit/judges/random.ts';
import { until } from '../../kit/judges/until.ts';
import {
  councilFileOf,
  councilIn,
  startCouncilServer
} from '../../kit/servers/council-servers.ts';
import type { McpClient } from '../../kit/servers/mcp-client.ts';
import {
  createTempWorkspace,
  type TempWorkspace
} from '../../kit/workspaces/temp-workspace.ts';

const random = seededRandom('council-cursor');
const pollers = 12;
const pollsEach = 834;
const senders = 8;
const sentEach = 125;

let workspace: TempWorkspace;
let servers: McpClient[] = [];

beforeEach(async () => {
  workspace = createTempWorkspace();
  servers = await Promise.all(
    [0, 1, 2, 3, 4].map(() => startCouncilServer(workspace))
  );
});

afterEach(async () => {
  for (const server of servers) await server.close();
  workspace.remove();
});

test('in 10,000 polls of twelve, each sees each of 1,000 responses once, in the order of the file', async () => {
  const [first, , , ...sending] = servers;
  const polling = servers.slice(0, 3);
  await first?.call('start_council', { agent_name: 'host', request: 'Why?' });
  let polls = 0;
  const mostPolls = pollers * pollsEach;
  /** Responses come while there are polls, from the first to the last. */
  const isDue = (sent: number) => polls >= (sent / sentEach) * mostPolls * 0.9;

  const send = async (index: number) => {
    const server = sending[index % sending.length];
    for (let sent = 0; sent < sentEach; sent += 1) {
      await until('polls', () => isDue(sent), 100_000);
      const answer = await server?.call('send_response', {
        agent_name: `sender ${index}`,
        content: `${index}/${sent} ${'x'.repeat(random.between(1, 400))}`
      });
      expect([answer?.isError, answer?.text]).toEqual([false, answer?.text]);
    }
  };
  const all = Array.from({ length: pollers }, (_, index) =>
    createPoller(`poller ${index}`, polling[index % polling.length])
  );
  await Promise.all([
    ...all.map(async ({ poll }) => {
      for (let count = 0; count < pollsEach; count += 1) {
        await poll();
        polls += 1;
      }
    }),
    ...Array.from({ length: senders }, (_, index) => send(index))
  ]);
  for (const { poll } of all) while ((await poll()) > 0);

  const { feedback } = councilIn(councilFileOf(workspace));
  const order = feedback.map(({ id }) => id);
  expect(order).toHaveLength(senders * sentEach);
  expect(polls).toBeGreaterThanOrEqual(10_000);
  for (const { seen } of all) expect(seen).toEqual(order);
}, 300_000);

/** A participant that continues from the cursor of each answer. */
function createPoller(agent_name: string, server: McpClient | undefined) {
  const seen: string[] = [];
  let cursor: unknown;
  return {
    seen,
    /** @returns how many responses it received */
    poll: async (): Promise<number> => {
      const answer = await server?.call('get_current_session_data', {
        agent_name,
        ...(typeof cursor === 'string' ? { cursor } : {})
      });
      expect([answer?.isError, answer?.text]).toEqual([false, answer?.text]);
      const { responses, next_cursor } = Object(answer?.data);
      for (const { id } of responses) seen.push(String(id));
      cursor = next_cursor;
      return responses.length;
    }
  };
}
