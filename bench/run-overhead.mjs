/**
 * Measures a whole run of a CLI that exits at once, from its spawn to the
 * outcome on disk, against a direct start of the same program. The difference
 * is the supervisor, the finalization and the journal.
 */
import {
  closeSync,
  existsSync,
  fdatasyncSync,
  openSync,
  writeSync
} from 'node:fs';
import { join } from 'node:path';
import { median, row } from './statistics.mjs';
import {
  cleanEnvironment,
  createWorkspace,
  runBench,
  startServer,
  timeChild,
  until,
  writeStandIn
} from './support.mjs';

/** Milliseconds. Ten runs gave 5.6 to 9.6, mostly due to a busy disk. */
const limit = { limit: 8, absolute: true };
/**
 * A run creates files and syncs some, so the guard grows with the time that one
 * such file takes, where that is above 1 ms.
 */
const guardMs = 24;

await runBench(100, async (options) => {
  const workspace = createWorkspace();
  const program = writeStandIn(workspace);
  const server = await startServer(options, workspace);
  const samples = { floor: [], sync: [], answered: [], whole: [], waited: [] };
  const spawns = join(workspace.record, 'spawns');
  const open = join(workspace.record, 'open');
  try {
    for (let run = -5; run < options.runs; run += 1) {
      const floor = await timeChild(program, [], {
        cwd: workspace.path,
        env: cleanEnvironment(workspace),
        stdio: ['ignore', 'pipe', 'ignore']
      });
      const sync = timeSync(join(workspace.base, `synced-${run}`));
      const from = performance.now();
      const { data, ms } = await server.call('spawn_standin', {
        prompt: 'Say ok.'
      });
      const folder = join(spawns, data.agent_id);
      const waited = server
        .call('wait_for_agents', { agent_ids: [data.agent_id] })
        .then(() => performance.now());
      const outcome = join(folder, 'outcome.json');
      const ended = await until(folder, () => existsSync(outcome));
      const waitedAt = await waited;
      await until(open, () => !existsSync(join(open, data.agent_id)));
      if (run < 0) continue;
      samples.floor.push(floor);
      samples.sync.push(sync);
      samples.answered.push(ended - from - ms);
      samples.whole.push(ended - from);
      samples.waited.push(waitedAt - from);
    }
  } finally {
    await server.close();
    workspace.remove();
  }
  const { floor } = samples;
  const more = (values) => median(values) - median(floor);
  const added = (values) => more(values).toFixed(1);
  return {
    title: 'A whole run of a CLI that exits at once',
    rows: [
      row('floor: started directly, to its exit', floor),
      row('floor: a new file written and synced', samples.sync),
      row('spawn answered → outcome on disk', samples.answered, { floor }),
      row('spawn called → outcome on disk', samples.whole, { floor }),
      row('spawn called → wait_for_agents answered', samples.waited, { floor }),
      row(
        'added by troupe until the outcome is on disk',
        [more(samples.whole)],
        {
          ...limit,
          guard: guardMs * Math.max(1, median(samples.sync)),
          summary: 'added to a run of a program that exits at once'
        }
      )
    ],
    notes: [
      `Added to the program's own time: ${added(samples.answered)} ms from the answer, ${added(samples.whole)} ms from the call, ${added(samples.waited)} ms until a waiting caller knows.`
    ]
  };
});

/** Milliseconds for a file as long as the record of a run. */
function timeSync(path) {
  const from = performance.now();
  const file = openSync(path, 'wx');
  writeSync(file, 'x'.repeat(800));
  fdatasyncSync(file);
  closeSync(file);
  return performance.now() - from;
}
