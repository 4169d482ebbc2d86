/**
 * Measures start-up, from spawning `troupe mcp` to the answers of `initialize`
 * and `tools/list`, against an empty process of the same Node binary, in turns
 * and in a clean environment.
 */
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { memoryOf } from './processes.mjs';
import { row } from './statistics.mjs';
import {
  Client,
  cleanEnvironment,
  createWorkspace,
  runBench,
  timeChild
} from './support.mjs';

/**
 * The guards are about 10% above the limits: the ratios of one build varied by
 * as much between runs on a shared machine.
 */
const limits = {
  initialize: { limit: 2.5, guard: 2.8 },
  list: { limit: 2.8, guard: 3.1 },
  // Later versions of Node start with 10 MB more.
  idle: { limit: 50, guard: 52, absolute: true }
};
/** Each sample of an idle server takes a second. */
const idleRuns = 5;
/** Starts without a compile cache, as right after an installation. */
const coldRuns = 12;

await runBench(30, async (options) => {
  const workspace = createWorkspace();
  const samples = { floor: [], initialize: [], list: [], cold: [] };
  const copy = copyOf(options.troupe, workspace);
  const memory = { listed: [], peak: [], idle: [], floor: [] };
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
      if (seen.idle) {
        memory.idle.push(seen.idle.now);
        memory.floor.push(await idleNode(options, workspace));
      }
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
  const [major] = version.split('.');
  return {
    title: `Start-up, Node ${version.trim()}`,
    rows: [
      row('floor: `node -e 0` to its exit', floor),
      row('spawn → `initialize` answered', samples.initialize, {
        floor,
        ...limits.initialize,
        summary: `start → \`initialize\`, Node ${major}`
      }),
      row('spawn → `tools/list` answered', samples.list, {
        floor,
        ...limits.list,
        summary: `start → \`tools/list\`, Node ${major}`
      }),
      row('first start of all → `initialize` answered', samples.cold, {
        floor
      }),
      row('memory after tools/list', memory.listed, { unit: 'MB' }),
      row('memory, most so far', memory.peak, { unit: 'MB' }),
      row('floor: memory of a Node that waits for input', memory.floor, {
        unit: 'MB'
      }),
      row('memory, idle for 1 s', memory.idle, {
        unit: 'MB',
        floor: memory.floor,
        ...(major === 'v20' ? limits.idle : {}),
        summary: `memory, idle for 1 s, Node ${major}`
      })
    ]
  };
});

/** Copies the build to a folder where its compile cache can be removed. */
function copyOf(troupe, workspace) {
  const dist = join(workspace.base, 'dist');
  cpSync(dirname(troupe), dist, { recursive: true });
  workspace.file('package.json', '{}');
  return join(dist, 'troupe.cjs');
}

/** Megabytes of a Node process that only waits for input. */
async function idleNode({ node }, workspace) {
  const child = spawn(node, ['-e', 'process.stdin.resume()'], {
    cwd: workspace.path,
    env: cleanEnvironment(workspace),
    stdio: ['pipe', 'ignore', 'ignore']
  });
  const exited = once(child, 'exit');
  await delay(1000);
  const { now } = memoryOf(child.pid);
  child.stdin.end();
  await exited;
  return now;
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
