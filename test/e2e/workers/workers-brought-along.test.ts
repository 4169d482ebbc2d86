import {
  chmodSync,
  existsSync,
  lstatSync,
  readdirSync,
  readFileSync,
  renameSync,
  symlinkSync,
  writeFileSync
} from 'node:fs';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { processEntry } from '../../../src/adapters/child-process/process-table.ts';
import { until } from '../../kit/judges/until.ts';
import {
  createdWorker,
  enqueued,
  eventSeen,
  eventsOf,
  refusalOf,
  taskEnd,
  typesOf,
  workerIs,
  workersSeen
} from '../../kit/servers/orchestrator-calls.ts';
import {
  createOrchestratorStage,
  type OrchestratorStage
} from '../../kit/servers/orchestrator-stage.ts';
import { printOf } from '../../kit/workspaces/tree.ts';

let stage: OrchestratorStage;

beforeEach(() => {
  const settings = { restart: 'on-crash' };
  stage = createOrchestratorStage('process', { settings });
});

afterEach(() => stage.close());

const requestOf = (id: string) =>
  join(stage.record, 'workers', id, 'request.json');

/** A worker that was ready and is to be started again, and no server. */
async function abandoned(): Promise<string> {
  const master = await stage.serve();
  const { agent_id } = await createdWorker(master);
  const servers = join(dirname(requestOf(agent_id)), 'servers');
  const marks = readdirSync(servers).filter((name) => /^\d+$/.test(name));
  await stage.kill(master);
  for (const pid of stage.processes(agent_id)) process.kill(pid, 'SIGKILL');
  // It takes its own marks away when its client has gone.
  for (const mark of marks)
    await until('the end of its server', () => isGone(Number(mark)));
  return agent_id;
}

test('a worker that was made here is started again by the next server', async () => {
  const id = await abandoned();
  const next = await stage.serve();
  await eventSeen(next, id, 'restarted');
});

function isGone(pid: number): true | undefined {
  const entry = processEntry(pid);
  return !entry || entry.zombie || undefined;
}

test('it gets no more access than that server allows', async () => {
  const id = await abandoned();
  const next = await stage.serve({ flags: ['--max-access', 'read'] });
  await eventSeen(next, id, 'restarted');
  await enqueued(next, id, 'edit', 'write made.txt hello');
  const { payload } = await taskEnd(next, id, 'edit');
  expect(JSON.stringify(payload)).toContain('refused');
  expect(existsSync(join(stage.path, 'made.txt'))).toBe(false);
});

/** What becomes of a worker's files on their way through a repository. */
const journeys: [what: string, travel: (path: string) => void][] = [
  ['a file that others can read', (path) => chmodSync(path, 0o644)],
  [
    'a maker of another machine',
    (path) => {
      const request = JSON.parse(readFileSync(path, 'utf8'));
      request.terms.maker.place = 'elsewhere 0000 0000';
      writeFileSync(path, JSON.stringify(request));
    }
  ],
  [
    'a link',
    (path) => {
      renameSync(path, `${path}.original`);
      symlinkSync(`${path}.original`, path);
    }
  ]
];

test.each(journeys)('one with %s is not', async (_what, travel) => {
  const id = await abandoned();
  travel(requestOf(id));
  const next = await stage.serve();
  await workerIs(next, id, 'crashed');
  expect(typesOf(await eventsOf(next, id))).not.toContain('<restarted>');
  expect(stage.processes(id)).toEqual([]);
});

/** Puts a link in place of a worker's folder. */
function linked(place: string): string {
  const elsewhere = join(stage.home, 'elsewhere');
  renameSync(place, elsewhere);
  symlinkSync(elsewhere, place);
  return elsewhere;
}

test('a link in the record’s workers is no worker, and nothing is written through it', async () => {
  const id = await abandoned();
  const place = dirname(requestOf(id));
  const elsewhere = linked(place);
  const before = printOf(elsewhere);
  const next = await stage.serve();
  expect(await workersSeen(next, 'all')).toEqual([]);
  const refused = await refusalOf(next, 'agent_get', { agent_id: id });
  expect(refused.error_code).toBe('unknown_agent');
  await createdWorker(next, { name: 'another' });
  expect(printOf(elsewhere)).toEqual(before);
  expect(lstatSync(place).isSymbolicLink()).toBe(true);
});

test('a link in .agents/agents is reported, and nothing is written through it', async () => {
  const id = await abandoned();
  const place = join(stage.paths.shared.agents, id);
  const elsewhere = linked(place);
  const before = printOf(elsewhere);
  const next = await stage.serve();
  await eventSeen(next, id, 'restarted');
  await enqueued(next, id, 'one');
  await taskEnd(next, id, 'one');
  await until('word of it', () => next.stderr.includes(place) || undefined);
  expect(printOf(elsewhere)).toEqual(before);
  expect(lstatSync(place).isSymbolicLink()).toBe(true);
});
