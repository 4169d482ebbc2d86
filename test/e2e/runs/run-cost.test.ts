import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { expect, onTestFinished } from 'vitest';
import {
  type SystemCalls,
  startTraced,
  type TracedServer,
  testTraced
} from '../../kit/judges/system-calls.ts';
import { until } from '../../kit/judges/until.ts';
import { createTempWorkspace } from '../../kit/workspaces/temp-workspace.ts';

/**
 * Successful opens, processes and syncs of the server's own process for a whole
 * run of a program that exits at once. 172 opens and 5 syncs in November 2026.
 */
const limits = {
  opens: 40,
  /** More, for processes that other programs started during the run. */
  young: 12,
  starts: 1,
  syncs: 4
};

/** Opens per second while a server follows its own agents at work. */
const followingLimit = 5;

/** How many agents, and how many foreign processes, are many. */
const manyAgents = 25;
const manyProcesses = 2000;

/** Engines `once`, which exits at once, and `still`, which is at work. */
async function traced(): Promise<TracedServer> {
  const workspace = createTempWorkspace();
  const engine = (name: string, command: string, word: string) =>
    workspace.write(
      `../${name}.mjs`,
      `export default {
        kind: 'cli', name: '${name}', description: 'A test program.',
        command: '${command}', args: () => ['${word}']
      };`
    );
  const plugins = [
    engine('once', '/bin/echo', 'done'),
    engine('still', '/bin/sleep', '600')
  ];
  workspace.write(
    '.trouperc.json',
    JSON.stringify({ plugins, maxSpawnsPerMinute: 0, maxConcurrent: 256 })
  );
  const started = await startTraced(workspace, []);
  onTestFinished(async () => {
    await started.server.close();
    workspace.remove();
  });
  return started;
}

/** One run, from the call of its spawn to its answered result. */
async function run({ server }: TracedServer): Promise<void> {
  const { data } = await server.call('spawn_once', { prompt: 'x' });
  const { agent_id } = data;
  await server.call('wait_for_agents', { agent_ids: [agent_id] });
  const result = await server.call('result', { agent_id });
  expect(result.data.status).toBe('completed');
}

/**
 * The run with the fewest opens of several: a busy machine adds processes to
 * look at, and rounds of the server.
 */
async function leastRun(stage: TracedServer): Promise<SystemCalls> {
  const runs: SystemCalls[] = [];
  for (let n = 0; n < 10; n += 1)
    runs.push(await stage.during(() => run(stage)));
  const [least] = runs.sort((a, b) => a.opens.length - b.opens.length);
  if (!least) throw new Error('no run');
  return least;
}

/** Opens per second in the quietest of some times without any call. */
async function leastPerSecond(stage: TracedServer): Promise<number> {
  const seconds = 2;
  const counts: number[] = [];
  for (let n = 0; n < 3; n += 1) {
    const { opens } = await stage.during(() => delay(1000 * seconds));
    counts.push(opens.length / seconds);
  }
  return Math.min(...counts);
}

/** Reads of single processes, see `limits.young`. */
const ofProcess = /^\/proc\/\d+\//;

function expectWithin({ opens, starts, syncs }: SystemCalls): void {
  const files = opens.filter((path) => !ofProcess.test(path));
  expect(files.length, opens.join('\n')).toBeLessThanOrEqual(limits.opens);
  expect(opens.length - files.length).toBeLessThanOrEqual(limits.young);
  expect(starts).toBe(limits.starts);
  expect(syncs).toBeLessThanOrEqual(limits.syncs);
}

testTraced(
  'a run opens few files, however many processes there are',
  async () => {
    const stage = await traced();
    await run(stage);
    expectWithin(await leastRun(stage));
    const crowd = spawn(
      '/bin/sh',
      [
        '-c',
        `n=0; while [ $n -lt ${manyProcesses} ]; do sleep 600 & n=$((n + 1)); done; echo up; wait`
      ],
      { detached: true, stdio: ['ignore', 'pipe', 'ignore'] }
    );
    onTestFinished(() => void process.kill(-(crowd.pid ?? 0), 'SIGKILL'));
    await once(crowd.stdout, 'data');
    expectWithin(await leastRun(stage));
  }
);

testTraced(
  'a run opens no more files while many agents are at work',
  async () => {
    const stage = await traced();
    const { server } = stage;
    await run(stage);
    const alone = await leastRun(stage);
    const spawned = await Promise.all(
      Array.from({ length: manyAgents }, () =>
        server.call('spawn_still', { prompt: 'x' })
      )
    );
    onTestFinished(async () => {
      for (const { data } of spawned)
        await server.call('cancel_agent', { agent_id: data.agent_id });
    });
    await until('all at work', async () => {
      const { data } = await server.call('list');
      return Array.isArray(data.running) && data.running.length === manyAgents;
    });
    const among = await leastRun(stage);
    expectWithin(among);
    expect(among.opens.length).toBeLessThanOrEqual(
      1.2 * alone.opens.length + limits.young
    );
    expect(await leastPerSecond(stage)).toBeLessThanOrEqual(followingLimit);
  }
);

testTraced('a run opens no more files after many have ended', async () => {
  const stage = await traced();
  await run(stage);
  const before = await leastRun(stage);
  await Promise.all(Array.from({ length: manyAgents }, () => run(stage)));
  const after = await leastRun(stage);
  expectWithin(after);
  expect(after.opens.length).toBeLessThanOrEqual(
    1.2 * before.opens.length + limits.young
  );
});
