import { copyFileSync, existsSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { readIfExists } from '../../../src/core/state/files/atomic-file.ts';
import { parseIac } from '../../kit/judges/iac-parser.ts';
import { until } from '../../kit/judges/until.ts';
import { type McpClient, startServer } from '../../kit/servers/mcp-client.ts';
import {
  createTempWorkspace,
  type TempWorkspace
} from '../../kit/workspaces/temp-workspace.ts';

let workspace: TempWorkspace;
let server: McpClient;

const serve = () =>
  startServer(workspace, { flags: ['--engines', 'rehearsal'] });

beforeEach(async () => {
  workspace = createTempWorkspace();
  server = await serve();
});

afterEach(async () => {
  await server.close();
  expect(server.impurities).toEqual([]);
  expect(server.stderr).toBe('');
  workspace.remove();
});

async function ended(count: number): Promise<string[]> {
  const ids: string[] = [];
  for (let number = 0; number < count; number += 1) {
    const { data } = await server.call('spawn_rehearsal', { prompt: 'say x' });
    ids.push(String(data.agent_id));
  }
  await server.call('wait_for_agents', { agent_ids: ids });
  return ids.toReversed();
}

function view(name: string): string {
  return readIfExists(join(workspace.path, 'logs', name)) ?? '';
}

/** The agents that IAC.md shows, once they are these, all ended. */
async function shows(ids: string[]): Promise<void> {
  await until(`IAC.md shows ${ids}`, () => {
    const text = view('IAC.md');
    if (text === '') return false;
    const { entries } = parseIac(text);
    const seen = entries.filter(({ done }) => done).map(({ id }) => id);
    return seen.join() === ids.join();
  });
}

test('IAC.md shows all that a journal holds which was removed meanwhile', async () => {
  const { journal } = workspace.paths;
  await shows(await ended(1));
  for (const count of [3, 3, 1]) {
    rmSync(journal);
    await shows(await ended(count));
  }
  rmSync(journal);
  const last = await ended(1);
  await server.close();
  server = await serve();
  await shows(last);
});

test('IAC.md shows a journal that took the place of another', async () => {
  const { journal } = workspace.paths;
  const first = await ended(1);
  copyFileSync(journal, `${journal}.first`);
  const all = [...(await ended(2)), ...first];
  await shows(all);
  renameSync(`${journal}.first`, journal);
  await shows(first);
});

test('a CONTEXT.md that has agents at work is rebuilt without a journal', async () => {
  const { data } = await server.call('spawn_rehearsal', { prompt: 'hang' });
  const id = String(data.agent_id);
  await until('it is at work', () => view('CONTEXT.md').includes(id));
  const stale = view('CONTEXT.md');
  await server.call('cancel_agent', { agent_id: id });
  await server.close();
  rmSync(workspace.paths.journal);
  rmSync(join(workspace.path, 'logs', 'IAC.md'));
  workspace.write('logs/CONTEXT.md', stale);
  server = await serve();
  await until('nobody is at work', () =>
    view('CONTEXT.md').includes('*No active agents*')
  );
});

test('an agent at work is written into the journal again, and its end too', async () => {
  const { data } = await server.call('spawn_rehearsal', { prompt: 'hang' });
  const atWork = String(data.agent_id);
  const { journal } = workspace.paths;
  for (let removals = 0; removals < 2; removals += 1) {
    await shows(await ended(1));
    rmSync(journal);
    await until('the agent at work alone is in the log', () => {
      const { entries } = parseIac(view('IAC.md'));
      const seen = entries.map(({ id, done }) => `${id} ${done}`);
      return existsSync(journal) && seen.join() === `${atWork} false`;
    });
  }
  rmSync(journal);
  await server.call('cancel_agent', { agent_id: atWork });
  await shows([atWork]);
  expect(readIfExists(journal)?.match(/"type":"spawned"/g)).toHaveLength(1);
});

test('list still has the ends of agents whose journal was removed', async () => {
  // One after the other: `list` is in the order of the ends.
  const before: string[] = [];
  while (before.length < 3) before.push(...(await ended(1)));
  rmSync(workspace.paths.journal);
  const listed = async (limit: number) =>
    (await server.call('list', { limit })).data.completed_ids;
  expect(await listed(10)).toEqual(before);
  expect(await listed(2)).toEqual(before.slice(1));
  const after = await ended(1);
  expect(await listed(3)).toEqual([...before.slice(1), ...after]);
});
