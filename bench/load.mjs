/**
 * Measures a server with hundreds of agents: 200 and 500 that all run at the
 * same time, and 1,000 that wait for 8 slots. Checks their answers and reports
 * the delay of the event loop, `list`, memory and processor time. The floor is
 * the same programs started by Node itself, and the same server at rest.
 *
 *     --agents 200   only the case with 200; default: all three
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { startProbed } from './inside.mjs';
import { configure } from './load-agents.mjs';
import { fact, row } from './statistics.mjs';
import { cleanEnvironment, createWorkspace, runBench } from './support.mjs';

const lookMs = 50;
const restLooks = 40;
const limits = {
  ...{ listMs: 50, loopMs: 100, megabytes: 120 },
  ...{ halfAnsweredMs: 100, answeredMs: 500 },
  /** Times as long as the same programs started by Node. */
  ...{ together: 2, queued: 3 }
};
/** Megabytes above the idle server. */
const growth = 60;
/** A guard is at least this multiple of the figure at rest. */
const noise = 50;

const cases = [
  { agents: 200, slots: 200 },
  { agents: 500, slots: 500 },
  { agents: 1000, slots: 8 }
];

await runBench(
  1,
  async (options) => {
    const wanted = cases.filter(
      ({ agents }) => !options.agents || agents === Number(options.agents)
    );
    if (wanted.length === 0) throw new Error('--agents is 200, 500 or 1000');
    const rows = [];
    const notes = [];
    const grown = [];
    for (const one of wanted) {
      const measured = await measure(options, one);
      rows.push(...rowsOf(one, measured));
      notes.push(noteOf(one, measured));
      grown.push({ ...one, ...measured.memory, rest: measured.before.now });
    }
    rows.push(...linearRows(grown));
    return { title: 'Hundreds of agents at once', rows, notes };
  },
  { agents: { type: 'string' } }
);

async function measure(options, one) {
  const workspace = createWorkspace();
  const program = configure(workspace, one);
  const { server, look } = await startProbed(options, workspace);
  try {
    const floorMs = await timeFloor(workspace, program, one);
    await server.call('list');
    await look();
    const rest = await listFor(server, restLooks);
    const { loop: restLoop } = await look();
    const before = server.memory();
    const cpu = server.cpuMs();
    const from = performance.now();
    let done = false;
    const lists = listUntil(server, () => done);
    const { spawned, outcomes } = await runAll(server, one, workspace.release);
    const ms = performance.now() - from;
    done = true;
    const listed = await lists;
    const { loop } = await look();
    return {
      ...{ floorMs, rest, restLoop, before, ms, loop, listed, spawned },
      cpuMs: server.cpuMs() - cpu,
      memory: server.memory(),
      ...(await check(server, outcomes))
    };
  } finally {
    await server.close();
    workspace.remove();
  }
}

/** The same programs, with the same number of slots, started by Node. */
async function timeFloor(workspace, program, { agents, slots }) {
  const from = performance.now();
  let next = 0;
  const lane = async () => {
    while (next < agents) {
      next += 1;
      const child = spawn(program, [], {
        cwd: workspace.path,
        env: cleanEnvironment(workspace),
        stdio: ['pipe', 'pipe', 'ignore']
      });
      child.stdin.end(`number ${next}\n`);
      child.stdout.resume();
      await once(child, 'close');
    }
  };
  const lanes = Array.from({ length: slots }, lane);
  const [close] = await Promise.all([workspace.release(), ...lanes]);
  close();
  return performance.now() - from;
}

/** Sends all calls without waiting for answers. */
async function runAll(server, { agents, slots }, release) {
  const spawns = await Promise.all(
    Array.from({ length: agents }, (_, n) =>
      server.call('spawn_echo', { prompt: `number ${n}` })
    )
  );
  const ids = spawns.map(({ data }) => data.agent_id);
  if (slots >= agents && spawns.some(({ data }) => data.status !== 'running'))
    throw new Error('one of them was queued');
  const close = await release();
  for (let rest = ids; rest.length > 0; ) {
    const { data } = await server.call('wait_for_agents', {
      agent_ids: rest.slice(0, 500)
    });
    if (data.status === 'all_completed') rest = rest.slice(500);
  }
  close();
  return { spawned: spawns.map(({ ms }) => ms), outcomes: ids };
}

/** Counts the right answers, and the most agents that ran at once. */
async function check(server, ids) {
  let right = 0;
  const moments = [];
  for (const [n, agent_id] of ids.entries()) {
    const { data } = await server.call('result', { agent_id });
    if (data.status === 'completed' && data.result === `number ${n}`)
      right += 1;
    moments.push([data.started_at, 1], [data.completed_at, -1]);
  }
  let [now, most] = [0, 0];
  for (const [, change] of moments.sort(([a], [b]) => (a < b ? -1 : 1))) {
    now += change;
    most = Math.max(most, now);
  }
  return { right, together: most };
}

async function listFor(server, count) {
  const taken = [];
  const end = () => taken.length >= count;
  return listUntil(server, end, taken);
}

/** Milliseconds of `list` calls, which start at a fixed interval. */
async function listUntil(server, end, taken = []) {
  const under = [];
  while (!end()) {
    under.push(server.call('list').then(({ ms }) => taken.push(ms)));
    await delay(lookMs);
  }
  await Promise.all(under);
  return taken;
}

function rowsOf({ agents, slots }, seen) {
  const name =
    slots < agents ? `${agents}, ${slots} at a time` : `${agents} at once`;
  const isBound = agents === 200;
  const isSummarized = isBound || slots < agents;
  // `--check` fails only above the guard, which allows for a busy machine.
  const under = (limit, guard = limit) =>
    isSummarized
      ? {
          ...{ limit, guard: Math.max(limit, Math.ceil(guard)) },
          ...{ absolute: true, advisory: !isBound }
        }
      : {};
  const summarized = (words) =>
    isSummarized ? { summary: `${name}: ${words}` } : {};
  return [
    fact(
      `${name}: completed, with the right answer`,
      seen.right === agents,
      `${seen.right}`,
      summarized('completed, with the right answer')
    ),
    ...(slots < agents
      ? []
      : [
          fact(
            `${name}: side by side`,
            seen.together === agents,
            `${seen.together}`
          )
        ]),
    row(`${name}: first call → all ended; floor: by Node alone`, [seen.ms], {
      floor: [seen.floorMs],
      ...(isSummarized
        ? { limit: slots < agents ? limits.queued : limits.together }
        : {}),
      ...summarized('all ended'),
      advisory: true
    }),
    row(`${name}: spawn answered`, seen.spawned),
    ...(isBound ? answerRows(name, seen.spawned, summarized) : []),
    row(`${name}: \`list\` meanwhile; floor: at rest`, seen.listed, {
      floor: seen.rest
    }),
    ...atMost(
      `${name}: 9 of 10 \`list\``,
      row('', seen.listed).p90,
      'ms',
      under(limits.listMs, noise * row('', seen.rest).p99)
    ),
    // One or two samples, which on a busy machine show its load.
    ...atMost(`${name}: 99 of 100 \`list\``, row('', seen.listed).p99, 'ms', {
      ...under(limits.listMs),
      ...summarized('99 of 100 `list`'),
      advisory: true
    }),
    ...atMost(
      `${name}: event loop late, 99 of 100`,
      seen.loop.p99,
      'ms',
      under(limits.loopMs, noise * seen.restLoop.p99)
    ),
    ...atMost(`${name}: event loop late, at most`, seen.loop.most, 'ms', {}),
    ...atMost(`${name}: most memory`, seen.memory.peak, 'MB', {
      ...under(limits.megabytes, seen.before.now + growth),
      ...summarized('memory')
    }),
    ...atMost(`${name}: processor time of the server`, seen.cpuMs, 'ms', {})
  ];
}

function answerRows(name, spawned, summarized) {
  const { median, p99 } = row('', spawned);
  return [
    ['half of the spawns answered', median, limits.halfAnsweredMs],
    ['99 of 100 spawns answered', p99, limits.answeredMs]
  ].flatMap(([words, ms, limit]) =>
    atMost(`${name}: ${words}`, ms, 'ms', {
      ...{ limit, absolute: true, advisory: true },
      ...summarized(words)
    })
  );
}

function atMost(name, value, unit, options) {
  return [row(name, [value], { unit, ...options })];
}

/** The memory of each agent must not grow with the number of agents. */
function linearRows([first, ...others]) {
  const each = ({ agents, peak, rest }) => [(peak - rest) / agents];
  return others.map((one) =>
    row(
      `memory for each of ${one.agents}; floor: of ${first.agents}`,
      each(one),
      { unit: 'MB', floor: each(first), limit: 1.2 }
    )
  );
}

function noteOf({ agents }, { before, memory, floorMs, ms }) {
  return `${agents}: memory ${before.now.toFixed(0)} MB before, ${memory.now.toFixed(0)} MB after, ${memory.peak.toFixed(0)} MB at most; ${(ms - floorMs).toFixed(0)} ms more than by Node alone.`;
}
