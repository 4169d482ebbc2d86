/**
 * Creates workers with long logs by the classes of the core, so that the files
 * are the same as those of a server.
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { rolldown } from 'rolldown';

const source = join(import.meta.dirname, '..', 'src');
const eventsOfTask = 10;
const tasksAtOnce = 100;

/** The classes that write, bundled from source. */
async function loadCore(workspace) {
  const entry = workspace.file(
    'worker-core.mjs',
    `export { WorkerStore } from '${source}/core/orchestrator/queue/worker-store.ts';
export { processLiveness } from '${source}/adapters/child-process/processes.ts';
`
  );
  const file = join(workspace.base, 'workers.mjs');
  const build = await rolldown({ input: entry, platform: 'node' });
  await build.write({ file, format: 'esm', codeSplitting: false });
  await build.close();
  return import(pathToFileURL(file).href);
}

/** Returns a function that creates workers, each in its own workspace. */
export async function workerMaker(workspace) {
  const { WorkerStore, processLiveness } = await loadCore(workspace);
  /**
   * Creates a worker with `events` events that waits for work. While this
   * process runs, the worker looks as if it were starting.
   * @returns its id
   */
  return async ({ path, record }, events) => {
    const shared = {
      agents: join(path, '.agents', 'agents'),
      run: join(path, '.agents', 'run')
    };
    const store = new WorkerStore({ record, shared }, processLiveness());
    const request = { role: 'You do what the tasks say.', env: {} };
    const prepare = (folder) => {
      const start = folder.start(1);
      mkdirSync(start, { recursive: true });
      writeFileSync(
        join(start, 'owner'),
        JSON.stringify(processLiveness().self)
      );
      writeFileSync(join(start, 'starting'), '');
    };
    const { meta, log } = store.create(metaOf(path), request, prepare);
    await log.change(() => ({ events: [ready], told: undefined }));
    for (let done = 0; done < events; done += tasksAtOnce * eventsOfTask) {
      await log.change(() => tasksFrom(done / eventsOfTask));
      await store.broadcastOf(meta.run_id).publish(meta.agent_id, log);
    }
    store.close();
    return meta.agent_id;
  };
}

const ready = { type: 'ready', by: 'troupe' };

function tasksFrom(first) {
  const ids = Array.from({ length: tasksAtOnce }, (_, n) => `t${first + n}`);
  const text = 'What was done is told in about so many words. '.repeat(4);
  return {
    commands: ids.map((task_id) => ({
      type: 'task',
      task_id,
      payload: `Do ${task_id}. ${text}`
    })),
    events: ids.flatMap((task_id) => [
      { type: 'delivered', task_id, by: 'troupe' },
      { type: 'ack', task_id },
      ...Array.from({ length: eventsOfTask - 3 }, () => ({
        type: 'progress',
        task_id,
        payload: { text }
      })),
      { type: 'result', task_id, payload: { text }, done: true }
    ]),
    told: undefined
  };
}

function metaOf(cwd) {
  return {
    v: 1,
    agent_id: 'beefbeef',
    name: 'bench',
    role: 'You do what the tasks say.',
    engine: 'rehearsal',
    model: null,
    access: 'full',
    cwd,
    run_id: 'beefbeef',
    backend: 'process',
    created_at: new Date().toISOString(),
    pane: null
  };
}
