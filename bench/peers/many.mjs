/** Measures 200 agents of two seconds at once, and `list` meanwhile. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fact, row } from '../statistics.mjs';
import { comparison } from './comparison.mjs';
import { isOurs, titleOf } from './list.mjs';
import { Session } from './session.mjs';
import { setStage } from './stage.mjs';

const agents = 200;
const lookMs = 50;
const seconds = 2;

export async function measureMany(all, { node, version }) {
  const seen = [];
  for (const peer of all.filter(({ track }) => track))
    seen.push({ peer, ...(await runAll(peer, node)) });
  const others = all.filter(({ track }) => !track).map(titleOf);
  return {
    title: `Peers: 200 agents at once, Node ${version}`,
    rows: [...seen.flatMap(rowsOf), fasterOf(seen)],
    notes: [
      `Each agent takes ${seconds} seconds. All are started at once and waited for, one \`list\` is asked for every ${lookMs} ms. troupe is configured to run ${agents} at once; by default it is 8.`,
      `–: ${others.join(', ')} have no agents to list.`
    ]
  };
}

async function runAll(peer, node) {
  const stage = setStage({ seconds });
  writeFileSync(
    join(stage.path, '.trouperc.json'),
    JSON.stringify({ maxConcurrent: agents })
  );
  const session = new Session(peer, stage, node);
  try {
    await session.initialize();
    const from = performance.now();
    let over = false;
    const lists = listUntil(session, peer.track.list, () => over);
    const results = await Promise.all(
      Array.from({ length: agents }, () => runOne(session, peer, stage))
    );
    const ms = performance.now() - from;
    over = true;
    const right = results.filter((one) => one.right).length;
    const started = results.map((one) => one.startedMs);
    return { ms, right, started, ...(await lists), memory: session.memory() };
  } finally {
    await session.close();
    stage.remove();
  }
}

async function runOne(session, { track }, stage) {
  const from = performance.now();
  try {
    const { data, at } = await session.call(track.start('Ok?', stage.path));
    const id = track.idOf(data);
    await session.call(track.wait(id));
    const { text } = await session.call(track.result(id));
    return { right: text.includes('"ok"'), startedMs: at - from };
  } catch {
    return { right: false, startedMs: performance.now() - from };
  }
}

/** Milliseconds of each list, and the number of failed calls. */
async function listUntil(session, call, isOver) {
  const listed = [];
  let failed = 0;
  const under = [];
  while (!isOver()) {
    const from = performance.now();
    under.push(
      session.call(call).then(
        ({ at }) => listed.push(at - from),
        () => {
          failed += 1;
        }
      )
    );
    await delay(lookMs);
  }
  await Promise.all(under);
  return { listed, failed };
}

function rowsOf({ peer, ms, right, started, listed, failed, memory }) {
  const name = titleOf(peer);
  const all = `${right} of ${agents}`;
  return [
    fact(
      `completed, with the right answer: ${name}`,
      isOurs(peer) ? right === agents : undefined,
      failed > 0 ? `${all}; ${failed} lists failed` : all
    ),
    row(`first call → last answer: ${name}`, [ms]),
    row(`start answered: ${name}`, started),
    row(`list meanwhile: ${name}`, listed),
    row(`most memory of its processes: ${name}`, [memory.peak], {
      unit: 'MB'
    })
  ];
}

/** Whether the lists of troupe are faster than those of each peer. */
function fasterOf(seen) {
  return comparison(
    '99 of 100 lists are faster than any peer’s',
    seen.map(({ peer, listed }) => ({ peer, amount: row('', listed).p99 })),
    'ms',
    { summary: '200 agents at once: list, 99 of 100' }
  );
}
