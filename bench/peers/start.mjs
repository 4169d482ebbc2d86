/** Measures start-up and memory, in turns, against an empty Node process. */
import { setTimeout as delay } from 'node:timers/promises';
import { fact, median, row } from '../statistics.mjs';
import { cleanEnvironment, timeChild } from '../support.mjs';
import { tokensOf } from '../token-count.mjs';
import { comparison } from './comparison.mjs';
import { titleOf } from './list.mjs';
import { Session } from './session.mjs';
import { setStage } from './stage.mjs';

const runs = 15;
/** Each sample of an idle server takes a second. */
const idleRuns = 3;
/** A server that led by 10% in one run was behind by as much in another. */
const guard = 1.2;

export async function measureStart(all, { node, version }) {
  const floor = [];
  const tried = all.map((peer) => ({
    ...{ peer, stage: setStage({}), processes: 0 },
    ...{ initialize: [], list: [], idle: [] }
  }));
  const [{ stage }] = tried;
  try {
    // Warms up: at most starts, a server finds its files and its daemon.
    for (const one of tried) await startOnce(one, node, false);
    for (let run = 0; run < runs; run += 1) {
      floor.push(
        await timeChild(node, ['-e', '0'], {
          cwd: stage.path,
          env: cleanEnvironment(stage),
          stdio: 'ignore'
        })
      );
      for (const one of tried) {
        const start = await startOnce(one, node, run < idleRuns);
        one.initialize.push(start.initialize);
        one.list.push(start.list);
        one.tools = start.tools;
        if (start.memory === undefined) continue;
        one.idle.push(start.memory.now);
        one.processes = Math.max(one.processes, start.memory.processes);
      }
    }
  } finally {
    for (const one of tried) one.stage.remove();
  }
  return [startReport(tried, floor, version), sizeReport(tried, version)];
}

async function startOnce({ peer, stage }, node, idle) {
  const session = new Session(peer, stage, node);
  try {
    const initialize = await session.initialize();
    const { result, at } = await session.request('tools/list');
    const list = at - session.startedAt;
    if (idle) await delay(1000);
    const memory = idle ? session.memory() : undefined;
    return { initialize, list, tools: result.tools, memory };
  } finally {
    await session.close();
  }
}

function startReport(seen, floor, version) {
  const answers = [
    ['initialize', 'initialize'],
    ['list', 'tools/list']
  ];
  return {
    title: `Peers: start-up, Node ${version}`,
    rows: [
      row('floor: `node -e 0` to its exit', floor),
      ...answers.flatMap(([what, method]) => [
        ...seen.map((one) =>
          row(`\`${method}\` answered: ${titleOf(one.peer)}`, one[what], {
            floor
          })
        ),
        comparison(
          `\`${method}\` before every Node peer, Node ${version}`,
          amountsOf(
            seen.filter(({ peer }) => !peer.program),
            what
          ),
          'ms',
          { guard }
        )
      ])
    ]
  };
}

function sizeReport(seen, version) {
  const large = seen.filter(({ tools }) => tools.length > 3);
  return {
    title: `Peers: memory and tools, Node ${version}`,
    rows: [
      ...seen.map((one) =>
        row(`idle for 1 s: ${titleOf(one.peer)}`, one.idle, { unit: 'MB' })
      ),
      comparison(
        `lowest memory of all with more than 3 tools, Node ${version}`,
        amountsOf(large, 'idle'),
        'MB',
        { guard }
      ),
      ...seen.map(({ peer, tools }) =>
        fact(`tools: ${titleOf(peer)}`, undefined, costOf(tools))
      )
    ],
    notes: [
      'Memory is what is resident of the server and of the processes that it started by then, added up.',
      ...seen
        .filter(({ processes }) => processes > 1)
        .map(
          ({ peer, processes }) =>
            `${titleOf(peer)}: ${processes} processes at rest.`
        )
    ]
  };
}

function costOf(tools) {
  const { sent, whole } = tokensOf(tools);
  const each = Math.round(sent / tools.length);
  return `${tools.length}; ${sent} tokens as clients hand them to a model, ${each} each; ${whole} in all`;
}

function amountsOf(seen, what) {
  return seen.map(({ peer, ...one }) => ({ peer, amount: median(one[what]) }));
}
