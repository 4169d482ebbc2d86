import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { beforeEach, describe, expect, test, vi } from 'vitest';
import { createProcessStage } from '../../../../test/kit/agents/process-stage.ts';
import {
  justBefore,
  watchFiles
} from '../../../../test/kit/judges/file-operations.ts';
import { until } from '../../../../test/kit/judges/until.ts';
import { recordWith } from '../../../../test/kit/servers/run-facts.ts';
import {
  createSpawnStage,
  type SpawnStage
} from '../../../../test/kit/workspaces/spawn-stage.ts';
import type { Processes, StopTarget } from '../ports.ts';
import { claimOf, eventsOf, hasExited, stopRequestOf } from '../run-files.ts';
import type { CancelWords } from './run-journal.ts';
import { cancelRun, end } from './stopper.ts';

vi.mock('node:fs', async () => {
  const judge = '../../../../test/kit/judges/file-operations.ts';
  return (await import(judge)).watchedFs();
});

let stage: SpawnStage;
let problems: unknown[];

beforeEach(async () => {
  watchFiles();
  problems = [];
  stage = await createSpawnStage({ config: { maxConcurrent: 1 } });
});

function parts(processes: Processes = stage.processes) {
  const { runJournal: journal } = stage;
  const onProblem = (problem: unknown) => problems.push(problem);
  return { ...stage, processes, journal, onProblem };
}

const cancel = (id: string, words: CancelWords = { reason: 'enough' }) =>
  cancelRun(id, words, parts());

async function spawned(engine: 'still' | 'shell', prompt = 'x') {
  const { record } = await stage.spawner.spawn({ engine, prompt });
  return { record, id: record.agent_id };
}

/** An agent at work, which has the only slot. */
async function atWork() {
  const { record, id } = await spawned('still');
  await until('its agent', () => claim(id)?.watchdogs.length);
  return { record, id };
}

const folder = (id: string) => stage.store.directoryOf(id);
const claim = (id: string) => claimOf(folder(id), stage.processes.self.place);
const stops = (id: string) =>
  eventsOf(folder(id)).filter(({ type }) => type === 'stop');

/** The requests to cancel in the journal. */
function requests(): { agent_id: string; reason: string; who?: string }[] {
  const text = readFileSync(stage.runJournal.path, 'utf8');
  return text
    .split('\n')
    .filter((line) => line.includes('"type":"cancel_requested"'))
    .map((line) => JSON.parse(line));
}

describe('the words of a cancel', () => {
  test.each<[CancelWords, string | undefined]>([
    [{ reason: 'enough' }, 'enough'],
    [{ reason: 'enough', who: 'from the page' }, 'enough (from the page)'],
    [{ who: 'from the page' }, 'from the page'],
    [{}, undefined]
  ])(
    '%j are journalled, and are the reason of the end',
    async (words, reason) => {
      await atWork();
      const { id } = await spawned('shell', 'touch ran');
      await cancel(id, words);
      expect(stopRequestOf(folder(id))).toEqual({
        type: 'stop',
        why: 'canceled',
        ...(reason === undefined ? {} : { reason })
      });
      expect(requests()).toEqual([
        expect.objectContaining({ reason: words.reason ?? null })
      ]);
      expect(requests()[0]?.who).toBe(words.who);
    }
  );
});

describe('the order', () => {
  test('of a queued agent: journalled, its reason recorded, then claimed', async () => {
    await atWork();
    const { id } = await spawned('shell', 'touch ran');
    const seen: unknown[] = [];
    justBefore('link', `${id}/claim`, () =>
      seen.push(requests().length, stopRequestOf(folder(id))?.reason)
    );
    expect((await cancel(id))?.outcome).toMatchObject({
      status: 'canceled',
      exit_code: null
    });
    expect(seen).toEqual([1, 'enough']);
    expect(stage.starter.own().map((one) => one.agent_id)).not.toContain(id);
  });

  test('of a running agent: journalled, its reason recorded, then signalled', async () => {
    const { id } = await atWork();
    const seen: unknown[] = [];
    const { kill } = process;
    vi.spyOn(process, 'kill').mockImplementation((pid, signal) => {
      if (signal === 'SIGTERM')
        seen.push(requests().length, stopRequestOf(folder(id))?.reason);
      return kill.call(process, pid, signal);
    });
    expect((await cancel(id))?.outcome?.status).toBe('canceled');
    expect(seen.slice(0, 2)).toEqual([1, 'enough']);
  });
});

/** A supervisor that another server starts for an agent. */
function supervised(id: string, script: string): void {
  const supervisor = createProcessStage().start(script, {
    TROUPE_AGENT_DIR: folder(id)
  });
  const { pid, start } = supervisor;
  writeFileSync(join(folder(id), 'claim'), `${pid} ${start}\n\n`);
}

test('an agent that starts just before it is claimed is stopped all the same', async () => {
  await atWork();
  const { id } = await spawned('shell', 'touch ran');
  justBefore('write', `${id}/events.jsonl`, () =>
    supervised(id, 'sleep 100; echo 143 > "$TROUPE_AGENT_DIR/exit"')
  );
  expect((await cancel(id))?.outcome).toMatchObject({
    status: 'canceled',
    exit_code: 143
  });
});

test('the end of an agent waits for the exit code, which is written last', async () => {
  const record = recordWith({ engine: 'still', owner: stage.processes.self });
  const { agent_id: id } = record;
  stage.store.create(record, 'x', 'x');
  supervised(id, 'sleep 100; sleep 100');
  const late = () => writeFileSync(join(folder(id), 'exit'), '143\n');
  const processes: Processes = {
    ...stage.processes,
    stop: async () => {
      void delay(20).then(late);
      return { survivors: [] };
    }
  };
  await end(record, 'canceled', 'enough', parts(processes));
  expect(stage.store.outcomeOf(id)).toMatchObject({ exit_code: 143 });
});

test('an agent of another machine counts as ended, which stops it there', async () => {
  const place = 'another-host boot space';
  const owner = { pid: 1, start: '1', place };
  const record = recordWith({ engine: 'still', owner });
  const { agent_id: id } = record;
  stage.store.create(record, 'x', 'x');
  writeFileSync(join(folder(id), 'claim'), '2 2\n3\n');
  expect((await stage.tracker.run(id))?.status).toBe('running');
  expect((await cancel(id))?.outcome).toMatchObject({
    status: 'canceled',
    exit_code: null
  });
  expect(stopRequestOf(folder(id))?.reason).toBe('enough');
});

test('a stop that fails is an error, and the agents that the agent spawned never start', async () => {
  const { id, record } = await atWork();
  const child = recordWith({ parent: id, owner: stage.processes.self });
  stage.store.create(child, 'x', 'x');
  const targets: StopTarget[] = [];
  const processes: Processes = {
    ...stage.processes,
    stop: async (target) => {
      targets.push(target);
      throw new Error('no process table');
    }
  };
  const ending = end(record, 'canceled', 'enough', parts(processes));
  await expect(ending).rejects.toThrow('no process table');
  const { place } = stage.processes.self;
  const request = { why: 'canceled', reason: 'enough' };
  expect(targets).toEqual([
    { directory: folder(id), place, withNested: true, request }
  ]);
  expect(claim(child.agent_id)?.never).toBe(true);
  expect((await stage.tracker.run(id))?.status).toBe('running');
});

describe('a repeated cancel', () => {
  test('at the same time ends the agent once, for the first reason', async () => {
    const { id } = await atWork();
    const runs = await Promise.all([
      cancel(id, { reason: 'first' }),
      cancel(id, { reason: 'second' })
    ]);
    const errors = runs.map((run) => run?.outcome?.error);
    expect(new Set(errors).size).toBe(1);
    expect(errors[0]).toContain('first');
    expect(stopRequestOf(folder(id))?.reason).toBe('first');
    expect(requests()).toHaveLength(2);
  });

  test('afterwards journals nothing and keeps the reason', async () => {
    await atWork();
    const { id } = await spawned('shell', 'touch ran');
    const first = await cancel(id);
    expect(await cancel(id, { reason: 'again' })).toEqual(first);
    expect(stops(id)).toHaveLength(1);
    expect(requests()).toHaveLength(1);
    expect(claim(id)?.never).toBe(true);
  });
});

test('an agent that has exited keeps its end before that is recorded', async () => {
  const { id, record } = await spawned('shell', 'echo done');
  await until('its exit', () => hasExited(folder(id)));
  const stopped: string[] = [];
  const processes: Processes = {
    ...stage.processes,
    stop: (target) => {
      stopped.push(target.directory);
      return stage.processes.stop(target);
    }
  };
  await end(record, 'canceled', 'too late', parts(processes));
  expect(stops(id)).toEqual([]);
  expect(stopped).toEqual([]);
  expect((await stage.tracker.run(id))?.outcome?.status).toBe('completed');
});

test.each([
  ['ENOSPC', 'storage_full'],
  ['EACCES', 'storage_unwritable']
])(
  'a cancel that the disk refuses (%s) says so, and can be repeated',
  async (errno, code) => {
    await atWork();
    const { id } = await spawned('shell', 'touch ran');
    justBefore('link', `${id}/claim`, () => {
      throw Object.assign(new Error(errno), { code: errno });
    });
    await expect(cancel(id)).rejects.toMatchObject({ code });
    expect((await cancel(id))?.outcome?.status).toBe('canceled');
    expect(stage.hasRun('ran')).toBe(false);
  }
);

test('an agent is ended before a cancel reports that one that it spawned is not', async () => {
  const pidFile = join(stage.workspace.path, 'pid');
  const stubborn = `trap '' TERM; echo $$ >pid; while :; do sleep 0.1; done`;
  const { id } = await spawned('shell', stubborn);
  const { self: owner } = stage.processes;
  const child = { agent_id: 'cccccccc', parent: id, owner };
  stage.store.create(recordWith(child), 'x', 'x');
  await until('its agent', () => existsSync(pidFile));
  justBefore('link', 'cccccccc/claim', () => {
    throw Object.assign(new Error('refused'), { code: 'ENOSPC' });
  });
  await expect(cancel(id)).rejects.toMatchObject({ code: 'storage_full' });
  expect(hasExited(folder(id))).toBe(true);
});
