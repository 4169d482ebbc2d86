import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { limitsOf } from '../../../src/interfaces/mcp/answers/client-limits.ts';
import { expectWhole } from '../../kit/judges/readable-answer.ts';
import { type McpClient, startServer } from '../../kit/servers/mcp-client.ts';
import {
  createTempWorkspace,
  type TempWorkspace
} from '../../kit/workspaces/temp-workspace.ts';

const plugin = `export default { kind: 'cli', name: 'held',
  description: 'For tests.', command: 'sleep', args: () => ['600'] };`;

const task = '한국어 "작업" '.repeat(20);
const count = 121;

let workspace: TempWorkspace;
let server: McpClient;
let ids: string[];

beforeAll(async () => {
  workspace = createTempWorkspace();
  workspace.write('held.mjs', plugin);
  for (const name of ['a', 'b'])
    workspace.write(`${name}.mjs`, `throw new Error('${'no '.repeat(5000)}')`);
  const plugins = ['./held.mjs', './a.mjs', './b.mjs'];
  const config = { plugins, maxConcurrent: 1, onDisconnect: 'stop' };
  workspace.write('troupe.config.json', JSON.stringify(config));
  server = await startServer(workspace);
  const spawned = await Promise.all(
    Array.from({ length: count }, () =>
      server.call('spawn_held', { prompt: task })
    )
  );
  ids = spawned.map(({ data }) => String(data.agent_id));
});

afterAll(async () => {
  await server.close();
  workspace.remove();
});

describe.each(['codex', 'copilot', 'gemini', 'claude', 'unknown'])(
  'with one agent at work and 120 in the queue, %s',
  (clientName) => {
    let client: McpClient;

    beforeAll(async () => {
      client = await startServer(workspace, { clientName });
    });

    afterAll(() => client.close());

    const ask = async (tool: string, input: Record<string, unknown>) => {
      const { isError, data, text } = await client.call(tool, input);
      expect(isError).toBe(false);
      expectWhole(text, data);
      expect(Buffer.byteLength(text)).toBeLessThanOrEqual(
        limitsOf(clientName).answerBytes
      );
      return data;
    };

    test('describes the task of each agent', async () => {
      const { running, queued } = await ask('list', { limit: 100 });
      const told = [running, queued].flat() as { id: string; task: string }[];
      expect(told.map(({ id }) => id).sort()).toEqual([...ids].sort());
      for (const one of told) {
        expect(one.task).toMatch(/^한국/);
        expect(task.startsWith(one.task.replace('…', ''))).toBe(true);
      }
    });

    test('names the agents to wait for', async () => {
      const all = { timeout: 0, scope: 'workspace' };
      const data = await ask('wait_for_agents', all);
      expect(data.status).toBe('timeout');
      expect([...(data.still_running as string[])].sort()).toEqual(
        [...ids].sort()
      );
    });
  }
);
