/**
 * Measures a council of several server processes: concurrent responses, also
 * with some servers killed; the time until a waiting participant gets a
 * response; and the cost of calls among thousands of responses.
 */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { measureLarge, thousands } from './council-large.mjs';
import {
  content,
  expectCount,
  expectLines,
  responsesIn,
  send,
  withServers
} from './council-servers.mjs';
import { councilPeer, timePeer } from './peers/council.mjs';
import { titleOf } from './peers/list.mjs';
import { fact, median, row } from './statistics.mjs';
import { createWorkspace, runBench } from './support.mjs';

const processes = 8;
const each = 75;
const lanes = 5;
const peerTimes = 5;
const wakeUpMs = 100;
/** At most twice the time of a rewritten file for each response. */
const rewriteLimit = { limit: 2 };
/**
 * Of the rate of an appended line: half with one call at a time, 0.8 with
 * several. The guards are what is reached so far, with room for a busy machine.
 */
const appendLimits = {
  alone: { limit: 2, guard: 12 },
  several: { limit: 1.25, guard: 5 }
};

await runBench(5, async (options) => {
  const samples = {
    append: [],
    floor: [],
    alone: [],
    several: [],
    killed: [],
    peer: []
  };
  const peer = await councilPeer();
  for (let run = 0; run < options.runs; run += 1) {
    samples.append.push(await timeFloor('append'));
    samples.floor.push(await timeFloor('rewrite'));
    samples.alone.push(await timeServers(options, 1));
    samples.several.push(await timeServers(options, lanes));
    samples.killed.push(await timeWithKills(options));
    if (peer)
      samples.peer.push({
        alone: await timePeer(peer, processes, content, 1),
        several: await timePeer(peer, processes, content, lanes)
      });
  }
  const wakeUps = await timeWakeUps(options, 40 * options.runs);
  const large = await measureLarge(options);
  return reportOf(samples, wakeUps, large, peer);
});

/** Milliseconds for each response, by plain processes. */
async function timeFloor(way) {
  const workspace = createWorkspace();
  const isAppend = way === 'append';
  const path = workspace.file('state', isAppend ? '' : '{"feedback":[]}');
  const args = [path, String(each), content, way];
  const program = join(import.meta.dirname, 'council-floor.mjs');
  const children = Array.from({ length: processes }, () => fork(program, args));
  try {
    const replies = () =>
      Promise.all(children.map((child) => once(child, 'message')));
    await replies();
    const ms = await timeSecond(() => {
      for (const child of children) child.send('go');
      return replies();
    });
    if (isAppend) expectLines(path, 2 * processes * each);
    else expectCount(path, 2 * processes * each);
    return ms / (processes * each);
  } finally {
    for (const child of children) child.disconnect();
    await Promise.all(children.map((child) => once(child, 'exit')));
    workspace.remove();
  }
}

/** The same by servers, each with `inFlight` concurrent calls. */
function timeServers(options, inFlight) {
  return withServers(options, processes, async (servers, path) => {
    const ms = await timeSecond(() =>
      Promise.all(
        servers.flatMap((server) =>
          Array.from({ length: inFlight }, async (_, lane) => {
            for (let sent = 0; sent < each / inFlight; sent += 1)
              await send(server, `lane ${lane}`);
          })
        )
      )
    );
    expectCount(path, 2 * processes * each);
    return ms / (processes * each);
  });
}

/** Milliseconds of the second run: servers live for hours. */
async function timeSecond(work) {
  await work();
  const from = performance.now();
  await work();
  return performance.now() - from;
}

/** Seconds for 600 responses of six servers, three of which are killed. */
function timeWithKills(options) {
  return withServers(options, 6, async (servers, path) => {
    const acknowledged = new Set();
    const from = performance.now();
    const ends = await Promise.allSettled(
      servers.flatMap((server, index) => {
        let count = 0;
        return Array.from({ length: 4 }, async (_, lane) => {
          for (let sent = 0; sent < 25; sent += 1) {
            acknowledged.add(await send(server, `lane ${lane}`));
            count += 1;
            if (index < 3 && count === 20 + 20 * index)
              process.kill(server.pid, 'SIGKILL');
          }
        });
      })
    );
    const seconds = (performance.now() - from) / 1000;
    const recorded = responsesIn(path).map(({ id }) => id);
    const lost = [...acknowledged].filter((id) => !recorded.includes(id));
    const failed = ends.slice(12).filter(({ reason }) => reason);
    if (lost.length + failed.length > 0)
      throw new Error(`${lost.length} lost, ${failed.length} failed`);
    return seconds;
  });
}

/** Milliseconds from `send_response` to the answer of a waiting participant. */
function timeWakeUps(options, count) {
  return withServers(options, 2, async ([waiter, sender]) => {
    const samples = [];
    let cursor = null;
    for (let index = 0; index < count; index += 1) {
      const waiting = waiter
        .call('wait_for_responses', { agent_name: 'waiter', cursor })
        .then(({ data }) => ({ data, at: performance.now() }));
      await delay(20 + Math.random() * 60);
      const from = performance.now();
      await send(sender, 'sender');
      const { data, at } = await waiting;
      if (data.responses.length !== 1) throw new Error('not one response');
      cursor = data.next_cursor;
      samples.push(at - from);
    }
    return samples;
  });
}

function reportOf(samples, wakeUps, large, peer) {
  const { append, floor, alone, several, killed } = samples;
  const wakeUp = row(
    'response called → who waits in another process is told',
    wakeUps
  );
  const rate = (line) => `${(1000 / line.median).toFixed(0)} responses/s`;
  const rows = {
    append: row('floor: one line, locked, appended and synced', append),
    floor: row('floor: one response, locked, rewritten and synced', floor),
    alone: row('one response acknowledged, one call at a time', alone, {
      floor,
      ...rewriteLimit
    }),
    aloneByAppend: row('one call at a time, by appended lines', alone, {
      floor: append,
      ...appendLimits.alone,
      summary: `council: a response acknowledged, ${processes} processes`
    }),
    several: row(
      `one response acknowledged, ${lanes} calls at a time`,
      several,
      {
        floor,
        ...rewriteLimit
      }
    ),
    severalByAppend: row(
      `${lanes} calls at a time, by appended lines`,
      several,
      {
        floor: append,
        ...appendLimits.several,
        summary: `council: the same, ${lanes} calls of each at a time`
      }
    )
  };
  return {
    title: `Council of ${processes} server processes`,
    rows: [
      ...Object.values(rows),
      ...(peer ? peerRows(peer, samples) : []),
      row('600 responses of 6 processes, 3 of them killed', killed, {
        unit: 's',
        limit: 10,
        absolute: true
      }),
      wakeUp,
      fact(
        `99 of 100 are told within ${wakeUpMs} ms`,
        wakeUp.p99 <= wakeUpMs,
        `${wakeUp.p99.toFixed(0)} ms`,
        {
          summary: 'council: a waiting agent is told, 99 of 100',
          reach: `< ${wakeUpMs} ms`
        }
      ),
      row(`send among ${thousands} responses`, large.send),
      row('the same, as another process has written since', large.sendInTurn),
      row('get from a cursor near their end', large.get),
      row('get from the first on', large.first)
    ],
    notes: [
      `Floors ${rate(rows.append)} by appended lines and ${rate(rows.floor)} by rewritten files, one call at a time ${rate(rows.alone)}, ${lanes} at a time ${rate(rows.several)}: ${processes} processes, ${processes * each} responses of ${content.length} characters, after as many before them. The floors are plain Node with an exclusively created lock file: one appends a line and syncs it, the other replaces the whole file, as a council has to, whose file any program may read.`,
      `With ${thousands} responses the file has ${(large.size / 2 ** 20).toFixed(1)} MB; most memory of a server ${large.memory.toFixed(0)} MB.`
    ]
  };
}

/** The rows of the published program, measured in the same way. */
function peerRows(peer, { peer: runs, ...ours }) {
  const title = titleOf(peer);
  const ways = { alone: 'one call', several: `${lanes} calls` };
  return Object.entries(ways).flatMap(([way, words]) => {
    const samples = runs.map((run) => run[way]);
    const sum = (key) => samples.reduce((total, run) => total + run[key], 0);
    const taken = samples.map(({ ms }) => ms);
    const calls = samples.flatMap((run) => run.calls);
    const times = median(taken) / median(ours[way]);
    return [
      row(`one response acknowledged, ${words} at a time: ${title}`, taken),
      row(`from call to answer, ${words} at a time: ${title}`, calls),
      fact(
        `acknowledged and kept, ${words} at a time: ${title}`,
        undefined,
        `${sum('kept')} of ${sum('acknowledged')}; ${sum('failed')} refused`
      ),
      fact(
        `responses a second, ${words} at a time, by those of ${peer.name}`,
        way === 'several' ? times >= peerTimes : undefined,
        `${times.toFixed(1)} times`,
        {
          summary: `council: responses a second, ${words} of each at a time`,
          floor: `${(1000 / median(taken)).toFixed(0)} (${title})`,
          ...(way === 'several' ? { reach: `≥ ${peerTimes} times` } : {})
        }
      )
    ];
  });
}
