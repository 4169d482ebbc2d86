/** Measures the delivery of tasks to a waiting worker, and to a tmux pane. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { createWorkspace, startServer, until } from './support.mjs';
import { workerMaker } from './worker-logs.mjs';
import { hasTmux, startStage } from './worker-stage.mjs';

const agent_id = 'beefbeef';
const deliveries = 200;
const typed = 60;
const pastEvents = 1000;

/** Milliseconds from `task_enqueue` to the answer for a waiting worker. */
export async function measureDelivery(options, startMaster) {
  const workspace = createWorkspace();
  try {
    const make = await workerMaker(workspace);
    await make(workspace, pastEvents);
    const master = await startMaster(options, workspace);
    const worker = await startServer(options, workspace, [
      ...['--toolsets', 'worker', '--agent-id', agent_id]
    ]);
    const samples = [];
    for (let index = 0; index < deliveries; index += 1) {
      const waiting = worker
        .call('wait_for_command', { timeout_ms: 30_000 })
        .then(({ data }) => ({ data, at: performance.now() }));
      await delay(30 + Math.random() * 60);
      const from = performance.now();
      const task = { task_id: `now-${index}`, payload: 'Say hello.' };
      await master.call('task_enqueue', { agent_id, task });
      const { data, at } = await waiting;
      if (data.command?.task_id !== task.task_id) throw new Error('not it');
      samples.push(at - from);
      await worker.call('emit_event', { type: 'result' });
    }
    const memory = worker.memory();
    await Promise.all([worker.close(), master.close()]);
    return { samples, memory };
  } finally {
    workspace.remove();
  }
}

/**
 * Milliseconds from `task_enqueue` to the first event of the program in a
 * pane, by the clock of the worker's log; undefined without tmux.
 */
export async function measurePane(options) {
  if (!hasTmux()) return undefined;
  const stage = await startStage(options, 'tmux');
  try {
    const id = await stage.create('bench');
    const folder = join(stage.workspace.path, '.agents', 'agents', id);
    const samples = [];
    for (let index = 0; index < typed; index += 1) {
      await delay(30 + Math.random() * 60);
      const from = Date.now();
      const task = { task_id: `now-${index}`, payload: 'say hello' };
      await stage.master.call('task_enqueue', { agent_id: id, task });
      const eventWith = (matches) =>
        eventsIn(folder).find(
          ({ task_id, ...event }) => task_id === task.task_id && matches(event)
        );
      await until(folder, () => eventWith(({ done }) => done));
      const first = eventWith(({ by }) => by !== 'troupe');
      samples.push(Date.parse(first.at) - from);
    }
    await stage.end(id);
    return samples;
  } finally {
    await stage.close();
  }
}

function eventsIn(folder) {
  return readFileSync(join(folder, 'outbox.jsonl'), 'utf8')
    .split('\n')
    .slice(0, -1)
    .map((line) => JSON.parse(line));
}
