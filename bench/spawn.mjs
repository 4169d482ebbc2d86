/**
 * Measures the answer to a spawn against the least that a durable answer can
 * cost: 1 KB appended and synced, and one round trip to the same server. Both
 * are measured in turns, with nothing else running.
 */
import {
  closeSync,
  existsSync,
  fdatasyncSync,
  openSync,
  writeSync
} from 'node:fs';
import { join } from 'node:path';
import { row } from './statistics.mjs';
import {
  createWorkspace,
  runBench,
  startServer,
  until,
  writeStandIn
} from './support.mjs';

const line = Buffer.from(`${'x'.repeat(1023)}\n`);
const burst = 8;
/**
 * On a machine with a busy disk, the ratio of the medians was 5.9 to 6.4, and
 * that of the 99th percentiles 1.1 to 10.3: one late sync decides the latter.
 */
const limits = {
  middle: { limit: 3, guard: 15 },
  worst: { limit: 8, advisory: true },
  together: { limit: 200, absolute: true }
};

await runBench(150, async (options) => {
  const workspace = createWorkspace();
  writeStandIn(workspace);
  const server = await startServer(options, workspace);
  const file = openSync(join(workspace.base, 'floor.jsonl'), 'a');
  const samples = { sync: [], ping: [], floor: [], spawn: [], together: [] };
  const folder = join(workspace.record, 'open');
  const spawned = () =>
    server.call('spawn_standin', { prompt: 'Say ok.', access: 'read' });
  try {
    for (let run = -5; run < options.runs; run += 1) {
      const sync = timeSync(file);
      const from = performance.now();
      const ping = (await server.request('ping')).at - from;
      const { data, ms } = await spawned();
      await until(folder, () => !existsSync(join(folder, data.agent_id)));
      if (run < 0) continue;
      samples.sync.push(sync);
      samples.ping.push(ping);
      samples.floor.push(sync + ping);
      samples.spawn.push(ms);
    }
    for (let run = 0; run < options.runs / burst; run += 1) {
      const answers = await Promise.all(Array.from({ length: burst }, spawned));
      samples.together.push(...answers.map(({ ms }) => ms));
      for (const { data } of answers)
        await until(folder, () => !existsSync(join(folder, data.agent_id)));
    }
  } finally {
    closeSync(file);
    await server.close();
    workspace.remove();
  }
  const { floor } = samples;
  return {
    title: 'Spawn, call → answer',
    rows: [
      row('1 KB appended and synced', samples.sync),
      row('one `ping`', samples.ping),
      row('floor: both', floor),
      row('spawn answered', samples.spawn, {
        floor,
        ...limits.middle,
        summary: 'spawn called → answered, its record synced'
      }),
      row('spawn answered, 99 of 100; floor: the same', worst(samples.spawn), {
        floor: worst(floor),
        ...limits.worst,
        summary: 'the same, 99 of 100'
      }),
      row(`${burst} spawns at once, each answered`, samples.together, {
        floor,
        ...limits.together
      })
    ],
    notes: [
      'When a spawn is answered, its record is synced, in a folder whose name is synced too, and its process was started: so it goes on though the server is killed at that moment. To start a process from one of Node (a fork, until the new program is there) takes about as long as all the rest.'
    ]
  };
});

function worst(values) {
  return [row('', values).p99];
}

function timeSync(file) {
  const from = performance.now();
  writeSync(file, line);
  fdatasyncSync(file);
  return performance.now() - from;
}
