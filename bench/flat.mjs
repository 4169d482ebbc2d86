/**
 * Whether cost grows with the past: one spawn, its whole cycle until IAC.md
 * shows its end, the start-up, `list` and `result`, with 10, 10,000 and
 * 100,000 ended agents behind them. 10,000 of these have their folders, those
 * before them are in the journal and among the sizes alone, as `troupe clean`
 * leaves them. All servers live at the same time and take turns.
 */
import {
  closeSync,
  existsSync,
  fstatSync,
  openSync,
  readdirSync,
  readSync,
  statSync
} from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { writeHistory } from './history.mjs';
import { fact, row } from './statistics.mjs';
import {
  Client,
  cleanEnvironment,
  createWorkspace,
  runBench,
  startServer,
  timeChild,
  until,
  writeStandIn
} from './support.mjs';

const few = 10;
const many = 10_000;
/** Of these the first are in the journal alone: their folders were cleaned. */
const most = 100_000;
const limits = { limit: 1.2, guard: 1.3 };
/** Of a start, in which nothing of the past is looked at. */
const startLimit = 1.1;
/** What a view of 200 entries may cost, by one that is not full yet. */
const fullView = 1.6;
const startRuns = 25;
const lookRuns = 40;
const commandRuns = 7;
const lookLimit = { limit: 50, absolute: true };
const cycleRuns = 15;

await runBench(80, async (options) => {
  const sides = [];
  try {
    for (const count of [few, many, most])
      sides.push(await prepare(options, count));
    await measureStarts(options, sides);
    for (const side of sides)
      side.server = await startServer(options, side.workspace);
    // What a server catches up on when it starts belongs to none of the runs.
    await delay(1500);
    await measureSpawns(options.runs, sides);
    await measureCycles(sides);
    await measureLooks(sides);
    await measureCommand(options, sides);
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
  const kept = Math.min(count, many);
  const intact = await writeHistory(workspace, 'standin', kept, count - kept);
  const logs = join(workspace.path, 'logs');
  const side = { count, workspace, logs, intact };
  const server = await startServer(options, workspace);
  await server.request('tools/list');
  const from = performance.now();
  await until(logs, () => isShown(logs), 120_000);
  side.firstView = [performance.now() - from];
  side.firstPeak = [server.memory().peak];
  await server.close();
  return {
    ...side,
    ...{ start: [], tools: [], firstList: [], list: [], result: [] },
    ...{ command: [], answer: [], cpu: [], cycle: [], cycleCpu: [] }
  };
}

async function measureStarts(options, sides) {
  for (let run = 0; run < startRuns; run += 1)
    for (const side of sides) {
      const client = new Client(options, side.workspace);
      side.start.push(await client.initialize());
      const { at } = await client.request('tools/list');
      side.tools.push(at - client.startedAt);
      side.firstList.push((await client.call('list')).ms);
      await client.close();
    }
}

/** The oldest agent is asked for; all its files were written long ago. */
async function measureLooks(sides) {
  for (let run = 0; run < lookRuns; run += 1)
    for (const side of sides) {
      side.list.push((await side.server.call('list', { limit: 100 })).ms);
      const { data, ms } = await side.server.call('result', {
        agent_id: '00000001'
      });
      if (data.result !== 'ok') throw new Error(JSON.stringify(data));
      side.result.push(ms);
    }
}

async function measureCommand({ node, troupe }, sides) {
  for (let run = 0; run < commandRuns; run += 1)
    for (const { workspace, command } of sides)
      command.push(
        await timeChild(node, [troupe, 'list'], {
          cwd: workspace.path,
          env: cleanEnvironment(workspace),
          stdio: 'ignore'
        })
      );
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
  const open = join(workspace.record, 'open');
  const mark = join(open, spawned.data.agent_id);
  await until(open, () => !statSync(mark, { throwIfNoEntry: false }));
  return spawned;
}

/** True when the view's last line says that it shows the whole journal. */
function isShown(logs) {
  const size = journalFiles(logs).reduce(
    (sum, path) => sum + (statSync(path, { throwIfNoEntry: false })?.size ?? 0),
    0
  );
  return tailOf(join(logs, 'IAC.md')).includes(`journal ${size} bytes`);
}

/** A long one has been rotated. */
function journalFiles(logs) {
  const archive = join(logs, 'archive');
  const names = existsSync(archive) ? readdirSync(archive) : [];
  const old = names.filter((name) => /^iac-\d+\.jsonl$/.test(name));
  return [...old.map((name) => join(archive, name)), join(logs, 'iac.jsonl')];
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

function reportOf([small, ...others], memory) {
  const all = [small, ...others];

  const flat = (name, count) => ({
    ...limits,
    summary: `${name}, ${count} ended agents; floor: ${few}`
  });
  const series = (name, what, optionsOf = flat) => [
    row(`${name}, ${few} behind it`, small[what]),
    ...others.map((side) =>
      row(`${name}, ${side.count} behind it`, side[what], {
        floor: small[what],
        ...optionsOf(name, side.count)
      })
    )
  ];
  const start = () => ({ limit: startLimit });
  const look = () => lookLimit;
  // Behind few agents IAC.md has fewer than the 200 entries it may have.
  const shown = (name, count) => ({ ...flat(name, count), guard: fullView });
  const last = others.at(-1);
  return {
    title: `Cost with ${few}, ${many} and ${most} ended agents`,
    rows: [
      ...series('start-up, `initialize` answered', 'start', start),
      ...series('start-up, `tools/list` answered', 'tools', start),
      ...series('first `list` of a server', 'firstList', look),
      ...series('`list` of 100 that ended', 'list', look),
      ...series('`result` of the first of all', 'result', look),
      ...series('`troupe list`', 'command', () => ({})),
      ...series('spawn answered', 'answer'),
      ...series('spawn called → end shown in IAC.md', 'cycle', shown),
      ...series('processor time of that cycle', 'cycleCpu', shown),
      row(`the same, ${most} behind it; floor: ${many}`, last.cycleCpu, {
        floor: others[0].cycleCpu,
        ...limits
      }),
      ...others.flatMap(({ count, firstView, firstPeak }) => [
        row(`first view of ${count} without IAC.md`, firstView),
        row('most memory of that', firstPeak, { unit: 'MB' })
      ]),
      fact(
        'the journals made for this are valid',
        all.every(({ intact }) => intact),
        `${2 * most} records in the largest`
      )
    ],
    notes: [
      `Most memory of the servers at the end: ${memory.map((megabytes) => megabytes.toFixed(0)).join(', ')} MB.`,
      'A view is written at most once a second, so a cycle is mostly waiting; its processor time shows the work. From 200 entries on a view has no more of them.'
    ]
  };
}
