import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { z } from 'zod';
import {
  ownTypes,
  terminalTypes,
  type WorkerStatus
} from '../../../src/core/orchestrator/queue/records.ts';
import {
  blocksOf,
  documentAt,
  fencedIn,
  firstColumn,
  sectionOf
} from '../../kit/judges/documents.ts';
import { ShownTalk } from '../../kit/judges/shown-talk.ts';
import { until } from '../../kit/judges/until.ts';
import { type McpClient, startServer } from '../../kit/servers/mcp-client.ts';
import {
  createdWorker,
  eventSeen,
  workerSeen,
  workersSeen
} from '../../kit/servers/orchestrator-calls.ts';
import {
  createTempWorkspace,
  type TempWorkspace
} from '../../kit/workspaces/temp-workspace.ts';

const page = documentAt('docs/guides/orchestrator.md');

let workspace: TempWorkspace;
let master: McpClient;

beforeEach(async () => {
  workspace = createTempWorkspace();
  const [config = ''] = blocksOf(page, 'json');
  workspace.write('troupe.config.json', config);
  master = await startServer(workspace);
});

afterEach(async () => {
  for (const { agent_id } of await workersSeen(master, 'all'))
    await master.call('agent_delete', { agent_id, force: true, confirm: true });
  await master.close();
  expect(master.impurities).toEqual([]);
  workspace.remove();
});

/** The master of the page, which asks when there is something to report. */
const patient: Pick<McpClient, 'call'> = {
  call: async (name, input = {}) => {
    const id = String(input.agent_id);
    if (name === 'events_read')
      await until('a worker without tasks', async () => {
        const seen = await workerSeen(master, id);
        return seen.status === 'ready' && seen.queue_depth === 0;
      });
    if (name === 'task_cancel') await eventSeen(master, id, 'progress');
    return master.call(name, input);
  }
};

test.each([
  ['docs/guides/orchestrator.md', '## In a minute', 6],
  ['docs/guides/orchestrator.md', '### Cancel', 6],
  ['README.md', '### Keep workers', 3]
])('the calls of %s, "%s", are answered as it shows', async (path, at, n) => {
  const section = sectionOf(documentAt(path), at);
  expect(await new ShownTalk(patient).play(fencedIn(section))).toBe(n);
});

test('the page has every status, and no other', () => {
  const statuses = {
    starting: true,
    ready: true,
    busy: true,
    stalled: true,
    crashed: true,
    stopped: true
  } satisfies Record<WorkerStatus, true>;
  expect(firstColumn(sectionOf(page, '## How a worker stands'))).toEqual(
    Object.keys(statuses)
  );
});

test('the page has every type of event with a meaning, and no other', () => {
  const ofWorkers = ['ready', 'ack', 'progress', 'heartbeat'];
  expect(firstColumn(sectionOf(page, '## Events'))).toEqual([
    ...ofWorkers,
    ...terminalTypes,
    ...ownTypes
  ]);
});

/** The ids of a message that was broadcast to all. */
async function toldWorker(): Promise<{ agent_id: string; run_id: string }> {
  const { agent_id, run_id } = await createdWorker(master);
  const run = join(workspace.path, '.agents', 'run', run_id);
  await until('the broadcast', () => existsSync(join(run, 'broadcast.jsonl')));
  return { agent_id, run_id };
}

test('what the page says is kept lies there', async () => {
  const ids = await toldWorker();
  const listed = firstColumn(sectionOf(page, '## Where it is kept'));
  expect(listed.length).toBeGreaterThan(5);
  for (const name of listed) {
    const path = withIds(name, ids);
    const { record } = workspace;
    const root = path.startsWith('.agents/') ? workspace.path : record;
    expect(existsSync(join(root, path)), path).toBe(true);
  }
});

const contentsSchema = z.object({
  contents: z.array(z.object({ uri: z.string(), text: z.string() }))
});

test('the resources of the page can be read', async () => {
  const ids = await toldWorker();
  const listed = firstColumn(sectionOf(page, '## Resources'));
  expect(listed).toHaveLength(4);
  for (const name of listed) {
    const uri = withIds(name, ids).replace('=N', '=7');
    const { contents } = contentsSchema.parse(
      await master.request('resources/read', { uri })
    );
    expect(contents, uri).toHaveLength(1);
    expect(contents[0]).toMatchObject({
      uri,
      text: expect.stringContaining(
        uri.endsWith('/meta') ? '"status":"ready"' : '"type":"ready"'
      )
    });
  }
});

function withIds(text: string, ids: Record<string, string>): string {
  return text.replace(/<(\w+)>/g, (_, name: string) => ids[name] ?? name);
}
