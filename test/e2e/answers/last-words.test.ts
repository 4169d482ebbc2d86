import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { until } from '../../kit/judges/until.ts';
import { runCommand } from '../../kit/servers/command-line.ts';
import { type McpClient, startServer } from '../../kit/servers/mcp-client.ts';
import {
  createTempWorkspace,
  type TempWorkspace
} from '../../kit/workspaces/temp-workspace.ts';

let workspace: TempWorkspace;
let server: McpClient;
let other: McpClient;

/** Prints its prompt, as it is, and stays. */
const plugin = (name: string, read: string) => `export default {
  kind: 'cli', name: '${name}', description: 'For tests.', command: '/bin/sh',
  args: () => ['-c', 'cat; exec sleep 600'], ${read} };`;

const readEvents = `read: (reply, { text, tool }) =>
  ({ ...reply, ...(text && { text }), ...(tool && { progress: tool }) })`;

beforeAll(async () => {
  workspace = createTempWorkspace();
  workspace.write('plain.mjs', plugin('plain', ''));
  workspace.write('events.mjs', plugin('events', readEvents));
  const plugins = ['./plain.mjs', './events.mjs'];
  const config = { plugins, maxConcurrent: 20, onDisconnect: 'stop' };
  workspace.write('troupe.config.json', JSON.stringify(config));
  server = await startServer(workspace);
  other = await startServer(workspace);
});

afterAll(async () => {
  for (const one of [server, other]) {
    await one.close();
    expect(one.impurities).toEqual([]);
    expect(one.stderr).toBe('');
  }
  workspace.remove();
});

async function spawned(engine: string, prompt: string): Promise<string> {
  const { data } = await server.call(`spawn_${engine}`, { prompt });
  return String(data.agent_id);
}

type Row = Record<string, unknown>;

/** Its row in the list of a server. */
async function listed(id: string, by: McpClient): Promise<Row | undefined> {
  const { data } = await by.call('list');
  return (data.running as Row[]).find((row) => row.id === id);
}

/** What both servers and the command line show of it. */
async function shown(id: string) {
  await until('its words', async () => {
    const rows = [await listed(id, server), await listed(id, other)];
    return rows.every((row) => row?.progress !== undefined);
  });
  const result = await other.call('result', { agent_id: id });
  const { stdout } = await runCommand(workspace, ['list', '--json']);
  const rows = JSON.parse(stdout).running as Row[];
  return {
    list: await listed(id, server),
    others: (await listed(id, other))?.progress,
    result: result.data,
    doing: rows.find((row) => row.agent_id === id)?.doing
  };
}

function events(...all: Record<string, string>[]): string {
  return all.map((event) => `${JSON.stringify(event)}\n`).join('');
}

describe('the last words of a running agent', () => {
  test.each([
    ['plain', 'one\ntwo\n\n', 'two'],
    ['plain', '10 %\r20 %', '20 %'],
    ['plain', '\u001b[31mred\u001b[0m \u202eturned', 'red \\u202eturned'],
    [
      'events',
      events({ text: 'Hm.' }, { tool: 'Bash: npm test' }),
      'Bash: npm test'
    ],
    ['events', events({ tool: 'Read: a' }, { text: 'So.\nDone.' }), 'Done.'],
    // More than is read of the end.
    [
      'events',
      events({ tool: 'Read: big' }, { output: 'x'.repeat(100_000) }),
      'Read: big'
    ]
  ])(
    '%s: %j is in list, result and on the command line',
    async (engine, said, words) => {
      const id = await spawned(engine, said);
      const { list, others, result, doing } = await shown(id);
      expect(list).toMatchObject({ source: 'agent', progress: words });
      expect(others).toBe(words);
      expect(result).toMatchObject({ source: 'agent', progress: words });
      expect(result.message).toContain(`Last seen: "${words}".`);
      expect(doing).toBe(words);
    }
  );

  test('are one line that is cut', async () => {
    const id = await spawned('plain', 'ü'.repeat(500));
    const { list } = await shown(id);
    expect(list?.progress).toBe(`${'ü'.repeat(119)}…`);
  });

  test('are not there before it has said something', async () => {
    const id = await spawned('events', 'no event');
    expect(await listed(id, server)).not.toHaveProperty('progress');
    expect(await listed(id, server)).not.toHaveProperty('source');
  });

  test('come with the seconds since it was started', async () => {
    const began = performance.now();
    const id = await spawned('plain', 'on and on');
    const seconds = await until('a second', async () => {
      const { data } = await other.call('result', { agent_id: id });
      return Number(data.elapsed_seconds) || undefined;
    });
    const most = Math.round((performance.now() - began) / 1000);
    expect(seconds).toBeGreaterThanOrEqual(1);
    expect(seconds).toBeLessThanOrEqual(most);
  });
});
