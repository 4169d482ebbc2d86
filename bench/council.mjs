/**
 * The council of several server processes: responses that all of them send at
 * once, some of the servers killed; how soon one who waits is told; and what
 * it costs when there are thousands of responses.
 */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fact, row } from './statistics.mjs';
import { createWorkspace, runBench, startServer } from './support.mjs';

const content = 'A response is about as long as this. '.repeat(9).slice(0, 300);
const processes = 8;
const each = 75;
const lanes = 5;
const wakeUpMs = 200;
const thousands = 10_000;

await runBench(5, async (options) => {
  const samples = { floor: [], alone: [], several: [], killed: [] };
  for (let run = 0; run < options.runs; run += 1) {
    samples.floor.push(await timeFloor());
    samples.alone.push(await timeServers(options, 1));
    samples.several.push(await timeServers(options, lanes));
    samples.killed.push(await timeWithKills(options));
  }
  const wakeUps = await timeWakeUps(options, 40 * options.runs);
  const large = await measureLarge(options);
  return reportOf(samples, wakeUps, large);
});

/** Milliseconds for each response, by plain processes. */
async function timeFloor() {
  const workspace = createWorkspace();
  const path = workspace.file('state.json', '{"feedback":[]}');
  const args = [path, String(each), content];
  const program = join(import.meta.dirname, 'council-floor.mjs');
  const children = Array.from({ length: processes }, () => fork(program, args));
  try {
    await Promise.all(children.map((child) => once(child, 'message')));
    const from = performance.now();
    for (const child of children) child.send('go');
    await Promise.all(children.map((child) => once(child, 'message')));
    const ms = performance.now() - from;
    expectCount(path, processes * each);
    return ms / (processes * each);
  } finally {
    for (const child of children) child.disconnect();
    await Promise.all(children.map((child) => once(child, 'exit')));
    workspace.remove();
  }
}

/** The same by servers, each with so many calls at a time. */
function timeServers(options, inFlight) {
  return withServers(options, processes, async (servers, path) => {
    const from = performance.now();
    await Promise.all(
      servers.flatMap((server) =>
        Array.from({ length: inFlight }, async (_, lane) => {
          for (let sent = 0; sent < each / inFlight; sent += 1)
            await send(server, `lane ${lane}`);
        })
      )
    );
    const ms = performance.now() - from;
    expectCount(path, processes * each);
    return ms / (processes * each);
  });
}

/** Seconds for 600 of six servers, of which three are killed. */
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

/** Milliseconds from the call that responds to the answer of who waits. */
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

/** Calls in a council of 10,000 responses, by two servers in turns. */
function measureLarge(options) {
  return withServers(options, 2, async ([one, other], path) => {
    const state = JSON.parse(readFileSync(path, 'utf8'));
    const [request] = state.requests;
    state.feedback = Array.from({ length: thousands }, (_, index) => ({
      id: `00000000-0000-4000-8000-${String(index).padStart(12, '0')}`,
      request_id: request.id,
      author: `agent ${index % 8}`,
      content,
      created_at: request.created_at
    }));
    writeFileSync(path, JSON.stringify(state));
    const cursor = state.feedback.at(-1).id;
    const get = (server, from) =>
      server.call('get_current_session_data', {
        agent_name: 'reader',
        ...(from ? { cursor: from } : {})
      });
    const samples = { send: [], sendInTurn: [], get: [], first: [] };
    const into = async (list, call) => {
      const from = performance.now();
      await call();
      list.push(performance.now() - from);
    };
    for (let index = 0; index < 15; index += 1) {
      await send(one, 'writer');
      await into(samples.send, () => send(one, 'writer'));
      await into(samples.get, () => get(one, cursor));
      await into(samples.first, () => get(one));
      await into(samples.sendInTurn, () => send(other, 'another'));
    }
    const { size } = statSync(path);
    return { ...samples, size, memory: one.memory().peak };
  });
}

/** Servers of one council that has been started. */
async function withServers(options, count, measure) {
  const workspace = createWorkspace();
  const servers = await Promise.all(
    Array.from({ length: count }, () =>
      startServer(options, workspace, ['--toolsets', 'council'])
    )
  );
  try {
    const request = 'What is best?';
    await servers[0].call('start_council', { agent_name: 'host', request });
    const path = join(workspace.home, '.agents-council', 'state.json');
    return await measure(servers, path);
  } finally {
    await Promise.all(servers.map((server) => server.close()));
    workspace.remove();
  }
}

async function send(server, agent_name) {
  const { data } = await server.call('send_response', { agent_name, content });
  return data.response_id;
}

function responsesIn(path) {
  return JSON.parse(readFileSync(path, 'utf8')).feedback;
}

function expectCount(path, count) {
  const { length } = responsesIn(path);
  if (length !== count) throw new Error(`${length} recorded, not ${count}`);
}

function reportOf({ floor, alone, several, killed }, wakeUps, large) {
  const wakeUp = row(
    'response called → who waits in another process is told',
    wakeUps
  );
  const rate = (line) => `${(1000 / line.median).toFixed(0)} responses/s`;
  const rows = {
    floor: row('floor: one response, locked, written and synced', floor),
    alone: row('one response acknowledged, one call at a time', alone, {
      floor
    }),
    several: row(
      `one response acknowledged, ${lanes} calls at a time`,
      several,
      { floor }
    )
  };
  return {
    title: `Council of ${processes} server processes`,
    rows: [
      ...Object.values(rows),
      row('600 responses of 6 processes, 3 of them killed', killed, {
        unit: 's',
        limit: 10,
        absolute: true
      }),
      wakeUp,
      fact(
        `99 of 100 are told within ${wakeUpMs} ms`,
        wakeUp.p99 <= wakeUpMs,
        `${wakeUp.p99.toFixed(0)} ms`
      ),
      row(`send among ${thousands} responses`, large.send),
      row('the same, as another process has written since', large.sendInTurn),
      row('get from a cursor near their end', large.get),
      row('get from the first on', large.first)
    ],
    notes: [
      `Floor ${rate(rows.floor)}, one call at a time ${rate(rows.alone)}, ${lanes} at a time ${rate(rows.several)}: ${processes} processes, ${processes * each} responses of ${content.length} characters. The floor is plain Node with an exclusively created lock file.`,
      `With ${thousands} responses the file has ${(large.size / 2 ** 20).toFixed(1)} MB; most memory of a server ${large.memory.toFixed(0)} MB.`
    ]
  };
}
