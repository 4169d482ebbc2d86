/**
 * Start-up: from spawning `troupe mcp` to the answers of `initialize` and
 * `tools/list`, against an empty Node process of the same binary, one after
 * the other in one run and in a clean environment.
 */
import { execFileSync } from 'node:child_process';
import { cpSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { row } from './statistics.mjs';
import {
  Client,
  cleanEnvironment,
  createWorkspace,
  runBench,
  timeChild
} from './support.mjs';

const limits = { initialize: 2.8, list: 3.1 };
/** Looking at an idle server takes a second each. */
const idleRuns = 5;
/** Starts of a copy that keeps no compiled code, as right after installing. */
const coldRuns = 12;

await runBench(30, async (options) => {
  const workspace = createWorkspace();
  const samples = { floor: [], initialize: [], list: [], cold: [] };
  const copy = copyOf(options.troupe, workspace);
  const memory = { listed: [], peak: [], idle: [] };
  try {
    await startOnce(options, workspace);
    for (let run = 0; run < options.runs; run += 1) {
      samples.floor.push(
        await timeChild(options.node, ['-e', '0'], {
          cwd: workspace.path,
          env: cleanEnvironment(workspace),
          stdio: 'ignore'
        })
      );
      const seen = await startOnce(options, workspace, run < idleRuns);
      samples.initialize.push(seen.initialize);
      samples.list.push(seen.list);
      memory.listed.push(seen.listed.now);
      memory.peak.push(seen.listed.peak);
      if (seen.idle) memory.idle.push(seen.idle.now);
      if (run >= coldRuns) continue;
      rmSync(join(dirname(copy), 'cache'), { recursive: true, force: true });
      const cold = await startOnce({ ...options, troupe: copy }, workspace);
      samples.cold.push(cold.initialize);
    }
  } finally {
    workspace.remove();
  }
  const { floor } = samples;
  const version = execFileSync(options.node, ['-v'], { encoding: 'utf8' });
  return {
    title: `Start-up, Node ${version.trim()}`,
    rows: [
      row('floor: `node -e 0` to its exit', floor),
      row('spawn → `initialize` answered', samples.initialize, {
        floor,
        limit: limits.initialize
      }),
      row('spawn → `tools/list` answered', samples.list, {
        floor,
        limit: limits.list
      }),
      row('first start of all → `initialize` answered', samples.cold, {
        floor
      }),
      row('memory after tools/list', memory.listed, { unit: 'MB' }),
      row('memory, most so far', memory.peak, { unit: 'MB' }),
      row('memory, idle for 1 s', memory.idle, { unit: 'MB' })
    ]
  };
});

/** The build in a folder of its own, where its kept code can be removed. */
function copyOf(troupe, workspace) {
  const dist = join(workspace.base, 'dist');
  cpSync(dirname(troupe), dist, { recursive: true });
  workspace.file('package.json', '{}');
  return join(dist, 'troupe.cjs');
}

async function startOnce(options, workspace, idle = false) {
  const client = new Client(options, workspace);
  const initialize = await client.initialize();
  const { at } = await client.request('tools/list');
  const list = at - client.startedAt;
  const listed = client.memory();
  if (idle) await delay(1000);
  const later = idle ? client.memory() : undefined;
  await client.close();
  return { initialize, list, listed, idle: later };
}
