/**
 * Measures the orchestrator: reads at the end and in the middle of event logs
 * of different lengths; the delivery of tasks; the creation of several workers
 * at once; and the cost of idle workers.
 */
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fact, row } from './statistics.mjs';
import { createWorkspace, runBench, startServer } from './support.mjs';
import { measureDelivery, measurePane } from './worker-delivery.mjs';
import { workerMaker } from './worker-logs.mjs';
import { cpuMsOf, hasTmux, startStage } from './worker-stage.mjs';

const lengths = [1000, 100_000, 1_000_000];
const agent_id = 'beefbeef';
const deltaEvents = 10;
const readsEach = 40;
const warmUps = 20;
const deliveredMs = 100;
const three = ['one', 'two', 'three'];
const thinkSeconds = 2;
const thinking = `rehearsal: sleep ${thinkSeconds}`;
const idleWorkers = 12;
const idleSeconds = 10;

await runBench(5, async (options) => {
  const logs = [];
  for (const events of lengths) logs.push(await measureLog(options, events));
  const delivery = await measureDelivery(options, startMaster);
  const pane = await measurePane(options);
  const creation = {
    process: await measureCreation(options, 'process'),
    tmux: await measureCreation(options, 'tmux')
  };
  return reportOf(
    logs,
    { ...delivery, pane },
    creation,
    await measureIdle(options)
  );
});

/** Times new servers with a log of `events` events. */
async function measureLog(options, events) {
  const workspace = createWorkspace();
  try {
    const make = await workerMaker(workspace);
    await make(workspace, events);
    const first = await timeFirst(options, workspace, events);
    // Without the saved state, a server reads the whole log.
    const state = join(workspace.record, 'workers');
    rmSync(join(state, agent_id, 'state.json'), { force: true });
    rmSync(join(state, `run-${agent_id}`, 'state.json'), { force: true });
    const uncached = await timeFirst(options, workspace, events);
    return { events, ...first, uncached };
  } finally {
    workspace.remove();
  }
}

async function timeFirst(options, workspace, events) {
  const server = await startMaster(options, workspace);
  const before = server.memory();
  const get = (await server.call('agent_get', { agent_id })).ms;
  const task = { payload: 'Say hello.' };
  const enqueue = (await server.call('task_enqueue', { agent_id, task })).ms;
  const end = [];
  const middle = [];
  for (let index = -warmUps; index < readsEach; index += 1) {
    if (index === 0) for (const list of [end, middle]) list.length = 0;
    end.push(await timeDelta(server, events - deltaEvents));
    middle.push(await timeDelta(server, events / 2 - index));
  }
  const after = server.memory();
  await server.close();
  return { get, enqueue, end, middle, before, after };
}

async function timeDelta(server, since_seq) {
  const asked = { agent_id, since_seq, max_events: deltaEvents };
  const { data, ms } = await server.call('events_read', asked);
  if (data.events.length !== deltaEvents || data.events[0].seq <= since_seq)
    throw new Error(`not the events after ${since_seq}`);
  return ms;
}

/**
 * Milliseconds until one worker is ready, and until three created at once are.
 * The workers request work immediately, or first think for a while, as agents
 * with a model do.
 */
async function measureCreation(options, backend) {
  if (backend === 'tmux' && !hasTmux()) return undefined;
  const samples = { one: [], three: [], oneThinks: [], threeThink: [] };
  const stage = await startStage(options, backend);
  try {
    const make = async (names, role) => {
      const from = performance.now();
      const made = await Promise.all(
        names.map((name) => stage.create(name, role))
      );
      const ms = performance.now() - from;
      for (const id of made) await stage.end(id);
      return ms;
    };
    await make(['first']);
    for (let run = 0; run < options.runs; run += 1) {
      samples.one.push(await make(['one']));
      samples.three.push(await make(three));
      samples.oneThinks.push(await make(['one'], thinking));
      samples.threeThink.push(await make(three, thinking));
    }
    return samples;
  } finally {
    await stage.close();
  }
}

/** Processor time of idle workers, in percent of one processor. */
async function measureIdle(options) {
  const stage = await startStage(options, 'process');
  try {
    const ids = [];
    for (let count = 0; count < idleWorkers; count += 1)
      ids.push(await stage.create(`worker ${count}`));
    const spent = () => ({
      ...cpuMsOf(stage.workspace),
      master: stage.master.cpuMs()
    });
    await delay(2000);
    const from = spent();
    await delay(1000 * idleSeconds);
    const to = spent();
    for (const id of ids) await stage.end(id);
    const percent = (name) => (to[name] - from[name]) / (10 * idleSeconds);
    return {
      servers: percent('servers'),
      programs: percent('programs'),
      master: percent('master')
    };
  } finally {
    await stage.close();
  }
}

function startMaster(options, workspace) {
  return startServer(options, workspace, ['--toolsets', 'orchestrator']);
}

function reportOf(logs, delivery, creation, idle) {
  const [short] = logs;
  const reads = logs.flatMap(({ events, end, middle }) =>
    [
      ['at the end', end, short.end],
      ['in the middle', middle, short.middle]
    ].map(([where, samples, floor]) => {
      const name = `events_read of ${deltaEvents} ${where} of ${events} events`;
      if (events === short.events) return row(name, samples);
      const summary = events === lengths.at(-1) ? name : undefined;
      return row(name, samples, { floor, limit: 1.2, summary });
    })
  );
  const long = logs.at(-1);
  const first = [
    ['agent_get', long.get, long.uncached.get],
    ['task_enqueue', long.enqueue, long.uncached.enqueue]
  ].flatMap(([tool, ms, uncached]) => [
    row(`first ${tool} of a server, ${long.events} events`, [ms], {
      limit: 1000,
      absolute: true
    }),
    row('the same without what servers keep of them', [uncached])
  ]);
  const delivered = [
    ['a waiting worker of another process has it', delivery.samples],
    ['the program in a tmux pane says that it has it', delivery.pane]
  ].flatMap(([what, samples]) =>
    samples ? inTime(`task enqueued → ${what}`, samples) : []
  );
  const made = Object.entries(creation).flatMap(([backend, samples]) =>
    samples
      ? [
          row(`agent_create, ${backend}`, samples.one),
          row(`three at once, ${backend}`, samples.three, {
            floor: samples.one
          }),
          row(
            `agent_create, ${backend}, after ${thinkSeconds} s of thought`,
            samples.oneThinks
          ),
          row(`three of these at once, ${backend}`, samples.threeThink, {
            floor: samples.oneThinks,
            limit: 1.2
          })
        ]
      : []
  );
  const grown = long.after.peak - long.before.peak;
  return {
    title: 'Orchestrator',
    rows: [...reads, ...first, ...delivered, ...made],
    notes: [
      `Of a log, the floor is that of ${short.events} events; of three at once, one. Three workers are six processes of Node. Memory of a server of the longest: ${long.before.now.toFixed(0)} MB before the first call, at most ${grown.toFixed(0)} MB more later.`,
      `Server of a worker: ${delivery.memory.now.toFixed(0)} MB, at most ${delivery.memory.peak.toFixed(0)} MB.`,
      `${idleWorkers} workers wait for ${idleSeconds} s: ${idle.servers.toFixed(1)}% of a processor for their servers, ${idle.programs.toFixed(1)}% for their programs, ${idle.master.toFixed(1)}% for the master.`
    ]
  };
}

/** A row of the samples, and whether their 99th percentile is in time. */
function inTime(name, samples) {
  const taken = row(name, samples);
  return [
    taken,
    fact(
      `99 of 100 within ${deliveredMs} ms: ${name}`,
      taken.p99 <= deliveredMs,
      `${taken.p99.toFixed(0)} ms`,
      { summary: `${name}, 99 of 100`, reach: `< ${deliveredMs} ms` }
    )
  ];
}
