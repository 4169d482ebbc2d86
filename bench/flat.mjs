/**
 * Whether cost grows with the past: one spawn, its whole cycle until IAC.md
 * shows its end, and the start-up, with 10 and with 10,000 ended agents behind
 * them. Both servers live at the same time and take turns.
 */
import { closeSync, fstatSync, openSync, readSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { writeHistory } from './history.mjs';
import { fact, row } from './statistics.mjs';
import {
  Client,
  createWorkspace,
  runBench,
  startServer,
  until,
  writeStandIn
} from './support.mjs';

const few = 10;
const many = 10_000;
const limit = 1.3;
const startRuns = 15;
const cycleRuns = 20;

await runBench(80, async (options) => {
  const sides = [];
  try {
    for (const count of [few, many]) sides.push(await prepare(options, count));
    await measureStarts(options, sides);
    for (const side of sides)
      side.server = await startServer(options, side.workspace);
    // What a server catches up on when it starts belongs to none of the runs.
    await delay(1500);
    await measureSpawns(options.runs, sides);
    await measureCycles(sides);
    const memory = sides.map((side) => side.server.memory().peak);
    return reportOf(sides, memory);
  } finally {
    for (const { server, workspace } of sides) {
      await server?.close();
      workspace.remove();
    }
  }
});

/** A workspace with a past, and IAC.md as the first server leaves it. */
async function prepare(options, count) {
  const workspace = createWorkspace();
  writeStandIn(workspace);
  const intact = await writeHistory(workspace, 'standin', count);
  const logs = join(workspace.path, 'logs');
  const side = { count, workspace, logs, intact };
  const server = await startServer(options, workspace);
  await server.request('tools/list');
  const from = performance.now();
  await until(logs, () => isShown(logs), 120_000);
  side.firstView = [performance.now() - from];
  side.firstPeak = [server.memory().peak];
  await server.close();
  return { ...side, start: [], answer: [], cpu: [], cycle: [], cycleCpu: [] };
}

async function measureStarts(options, sides) {
  for (let run = 0; run < startRuns; run += 1)
    for (const side of sides) {
      const client = new Client(options, side.workspace);
      side.start.push(await client.initialize());
      await client.request('tools/list');
      await client.close();
    }
}

async function measureSpawns(runs, sides) {
  for (let run = -3; run < runs; run += 1)
    for (const side of sides) {
      const { ms } = await spawnToEnd(side);
      if (run >= 0) side.answer.push(ms);
    }
}

/** Each cycle begins when the view may be written at once. */
async function measureCycles(sides) {
  for (let run = 0; run < cycleRuns; run += 1)
    for (const side of sides) {
      await until(side.logs, () => isShown(side.logs));
      await delay(1100);
      const before = side.server.cpuMs();
      const from = performance.now();
      await spawnToEnd(side);
      await until(side.logs, () => isShown(side.logs));
      side.cycle.push(performance.now() - from);
      side.cycleCpu.push(side.server.cpuMs() - before);
    }
}

async function spawnToEnd({ server, workspace }) {
  const spawned = await server.call('spawn_standin', { prompt: 'Say ok.' });
  const open = join(workspace.path, '.agents', 'open');
  const mark = join(open, spawned.data.agent_id);
  await until(open, () => !statSync(mark, { throwIfNoEntry: false }));
  return spawned;
}

/** True when the view's last line says that it shows the whole journal. */
function isShown(logs) {
  const size = statSync(join(logs, 'iac.jsonl')).size;
  return tailOf(join(logs, 'IAC.md')).includes(`journal ${size} bytes`);
}

function tailOf(path) {
  let file;
  try {
    file = openSync(path, 'r');
  } catch {
    return '';
  }
  try {
    const tail = Buffer.alloc(200);
    const from = Math.max(0, fstatSync(file).size - tail.length);
    return tail.toString('utf8', 0, readSync(file, tail, 0, 200, from));
  } finally {
    closeSync(file);
  }
}

function reportOf([small, large], memory) {
  const pair = (name, what, options) => [
    row(`${name}, ${few} behind it`, small[what], options),
    row(`${name}, ${many} behind it`, large[what], {
      ...options,
      floor: small[what],
      limit
    })
  ];
  return {
    title: `Cost with ${few} and with ${many} ended agents`,
    rows: [
      ...pair('start-up, `initialize` answered', 'start'),
      ...pair('spawn answered', 'answer'),
      ...pair('spawn called → end shown in IAC.md', 'cycle'),
      ...pair('processor time of that cycle', 'cycleCpu'),
      row(`first view of ${many} without IAC.md`, large.firstView),
      row('most memory of that', large.firstPeak, { unit: 'MB' }),
      fact(
        'the journals made for this are valid',
        small.intact && large.intact,
        `${2 * many} records`
      )
    ],
    notes: [
      `Most memory of the two servers at the end: ${memory.map((megabytes) => megabytes.toFixed(0)).join(' and ')} MB.`,
      'A view is written at most once a second, so a cycle is mostly waiting; its processor time shows the work.'
    ]
  };
}
