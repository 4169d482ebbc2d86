import { afterEach, beforeEach, expect, test } from 'vitest';
import type { CouncilState } from '../../../src/core/council/state.ts';
import {
  councilFileOf,
  councilIn,
  leftBeside,
  startCouncilServer
} from '../../kit/servers/council-servers.ts';
import type { McpClient } from '../../kit/servers/mcp-client.ts';
import {
  createTempWorkspace,
  type TempWorkspace
} from '../../kit/workspaces/temp-workspace.ts';

let workspace: TempWorkspace;
let servers: McpClient[] = [];

beforeEach(async () => {
  workspace = createTempWorkspace();
  servers = await Promise.all(
    [0, 1, 2, 3, 4, 5].map(() => startCouncilServer(workspace))
  );
});

afterEach(async () => {
  for (const server of servers) await server.close();
  workspace.remove();
});

const each = 100;
const lanesEach = 4;

test('of 600 responses of six processes at once, three of them killed, each that was acknowledged is there once', async () => {
  const path = councilFileOf(workspace);
  const [first] = servers;
  await first?.call('start_council', { agent_name: 'host', request: 'Why?' });
  const acknowledged = new Map<string, string>();
  const lanes = servers.flatMap((server, index) => {
    let count = 0;
    const lane = async (number: number) => {
      for (let turn = 0; turn < each / lanesEach; turn += 1) {
        const content = `${index}/${number}/${turn} ${'word '.repeat(60)}`;
        const agent_name = `agent ${index}`;
        const { isError, text, data } = await server.call('send_response', {
          agent_name,
          content
        });
        expect([isError, text]).toEqual([false, expect.anything()]);
        acknowledged.set(String(data.response_id), content);
        count += 1;
        // Three die with some of their responses recorded and some in flight.
        if (index < 3 && count === 20 + 20 * index)
          server.child.kill('SIGKILL');
      }
    };
    return Array.from({ length: lanesEach }, (_, number) => lane(number));
  });
  const reader = watch(path);
  const settled = await Promise.allSettled(lanes);
  const seen = reader.stop();

  const survived = settled.slice(3 * lanesEach);
  expect(survived.filter(({ status }) => status === 'rejected')).toEqual([]);
  expect(settled.slice(0, 3 * lanesEach).map(({ status }) => status)).toEqual(
    Array(3 * lanesEach).fill('rejected')
  );
  const killed = await Promise.all(
    servers.slice(0, 3).map(({ exited }) => exited)
  );
  expect(killed.map(({ signal }) => signal)).toEqual(Array(3).fill('SIGKILL'));
  const { feedback } = councilIn(path);
  const recorded = new Map(feedback.map(({ id, content }) => [id, content]));
  expect(recorded.size).toBe(feedback.length);
  const contents = feedback.map(({ content }) => content);
  expect(new Set(contents).size).toBe(contents.length);
  for (const [id, content] of acknowledged)
    expect(recorded.get(id)).toBe(content);
  expect(acknowledged.size).toBeGreaterThanOrEqual(3 * each);
  expect(seen.length).toBeGreaterThan(1);
  expect(seen).toEqual(seen.toSorted((a, b) => a - b));

  for (const server of servers) await server.close();
  expect(leftBeside(path)).toEqual([]);
  for (const { stderr, impurities } of servers.slice(3))
    expect([stderr, impurities]).toEqual(['', []]);
});

/** Reads the file as often as it can: it is whole each time. */
function watch(path: string) {
  const seen: number[] = [];
  let isOver = false;
  const look = () => {
    if (isOver) return;
    const { feedback }: CouncilState = councilIn(path);
    seen.push(feedback.length);
    setImmediate(look);
  };
  look();
  return {
    /** @returns how many responses it saw, each time */
    stop: () => {
      isOver = true;
      return seen;
    }
  };
}
