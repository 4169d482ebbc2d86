/**
 * Checks that cost does not grow with the number of ended agents: one spawn,
 * its whole cycle until IAC.md shows its end, the start-up, `list` and
 * `result`, after 10, 10,000 and 100,000 ended agents. Up to 10,000 agents
 * have a folder; older ones are only in the journal and in the size ledger, as
 * after `troupe clean`. All servers run at the same time and take turns.
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
/** All but the last 10,000 are only in the journal, as after a clean. */
const most = 100_000;
const limits = { limit: 1.2, guard: 1.3 };
/** For a start, which reads nothing about ended agents. */
const startLimit = 1.1;
/** For a full view of 200 entries, against a view with fewer. */
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
    // The servers finish the work of their start, which belongs to no run.
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

/** A workspace with `count` ended agents, and IAC.md as a server writes it. */
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
  await until(logs, () => isShown(workspace), 120_000);
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

/** Reads the result of the oldest agent that has a folder. */
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

/** Each cycle begins when the server may write the view immediately. */
async function measureCycles(sides) {
  for (let run = 0; run < cycleRuns; run += 1)
    for (const side of sides) {
      await until(side.logs, () => isShown(side.workspace));
      await delay(1100);
      const before = side.server.cpuMs();
      const from = performance.now();
      await spawnToEnd(side);
      await until(side.logs, () => isShown(side.workspace));
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
function isShown({ path, record }) {
  const size = journalFiles(record).reduce(
    (sum, path) => sum + (statSync(path, { throwIfNoEntry: false })?.size ?? 0),
    0
  );
  return tailOf(join(path, 'logs', 'IAC.md')).includes(`journal ${size} bytes`);
}

/** The current journal and the rotated ones. */
function journalFiles(record) {
  const archive = join(record, 'journal');
  const names = existsSync(archive) ? readdirSync(archive) : [];
  const old = names.filter((name) => /^iac-\d+\.jsonl$/.test(name));
  return [...old.map((name) => join(archive, name)), join(record, 'iac.jsonl')];
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
  // After few agents, IAC.md has fewer entries than its limit of 200.
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
