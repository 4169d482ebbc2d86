import { mkdirSync, rmSync } from 'node:fs';
import { beforeEach, describe, expect, test } from 'vitest';
import {
  type HostHere,
  hireWorker,
  hostHere
} from '../../../test/kit/servers/host-here.ts';
import { actedIn } from '../../../test/kit/servers/web-server.ts';
import {
  cancelTask,
  respond,
  sendTask,
  stopWorker,
  summonAgent
} from './group-actions.ts';

let here: HostHere;

beforeEach(async () => {
  here = await hostHere();
});

const id = 'aaaaaaaa';
const page = 'from the page';

/** A worker that is ready for tasks. */
async function worker(access: 'read' | 'full' = 'read'): Promise<void> {
  const { log } = hireWorker(here, id, { access });
  await log.change(() => ({
    events: [{ type: 'ready', by: 'troupe' }],
    result: undefined
  }));
}

const tasks = () =>
  here.host.orchestrator.store
    .get(id)
    .log.read()
    .tasks.map((task) => task.id);

describe('a task from the page', () => {
  const task = { task_id: 't1', text: 'look' };

  test('is given to the worker once, and journaled once', async () => {
    await worker();
    expect(await sendTask(here.host, id, task)).toEqual({
      ...{ task_id: 't1', position: 0 }
    });
    expect(await sendTask(here.host, id, task)).toEqual({
      ...{ task_id: 't1', position: null }
    });
    expect(tasks()).toEqual(['t1']);
    expect(actedIn(here.workspace)).toEqual([
      [id, 'task_sent', 't1: look', page]
    ]);
  });

  test('is not given to a worker that may do more than the page', async () => {
    here = await hostHere({ maxAccess: 'read' });
    await worker('full');
    await expect(sendTask(here.host, id, task)).rejects.toMatchObject({
      code: 'not_yours'
    });
    expect(tasks()).toEqual([]);
  });

  test('is not given to an unknown worker, or to one that is to stop', async () => {
    await expect(sendTask(here.host, id, task)).rejects.toMatchObject({
      code: 'unknown_agent'
    });
    await worker();
    await sendTask(here.host, id, task);
    await stopWorker(here.host, id, { force: false });
    const next = { task_id: 't2', text: 'x' };
    await expect(sendTask(here.host, id, next)).rejects.toThrow(id);
    expect(tasks()).toEqual(['t1']);
  });

  test('is canceled by its id', async () => {
    await worker();
    await sendTask(here.host, id, task);
    expect(await cancelTask(here.host, id, { task_id: 't1' })).toMatchObject({
      task_id: 't1',
      state: expect.any(String)
    });
    expect(tasks()).toEqual([]);
    expect(actedIn(here.workspace).at(-1)).toEqual([
      ...[id, 'task_cancel_requested', 't1', page]
    ]);
  });

  test('is done with a warning when the journal cannot be written', async () => {
    await worker();
    const { path } = here.host.journal;
    rmSync(path, { force: true });
    mkdirSync(path, { recursive: true });
    expect(await sendTask(here.host, id, task)).toMatchObject({
      warning: expect.stringContaining(`the journal lacks it: ${path}`)
    });
    expect(tasks()).toEqual(['t1']);
    rmSync(path, { recursive: true });
  });
});

describe('stopping a worker', () => {
  test('after its tasks is journaled once, and at once again', async () => {
    await worker();
    await sendTask(here.host, id, { task_id: 't1', text: 'look' });
    await stopWorker(here.host, id, { force: false });
    await stopWorker(here.host, id, { force: false });
    expect(actedIn(here.workspace).slice(1)).toEqual([
      [id, 'stop_requested', 'after its tasks', page]
    ]);
    const { status } = await stopWorker(here.host, id, { force: true });
    expect(status).toBe('stopped');
    await stopWorker(here.host, id, { force: true });
    expect(actedIn(here.workspace).slice(2)).toEqual([
      [id, 'stop_requested', 'at once', page]
    ]);
  });
});

describe('a response of the person', () => {
  const content = 'Take the second.';

  async function council(): Promise<string> {
    const { session } = await here.host.council.start('claude', 'Which?');
    return session.id;
  }

  test('is recorded once, as of a person, and journaled once', async () => {
    const session_id = await council();
    const body = { session_id, content, request_id: 'request-1' };
    const sent = await respond(here.host, body);
    expect(await respond(here.host, body)).toEqual(sent);
    const { feedback } = here.host.councilStore.read();
    expect(feedback).toMatchObject([
      { id: sent.response_id, author: sent.agent_name, by: 'person', content }
    ]);
    expect(actedIn(here.workspace)).toEqual([['', 'responded', content, page]]);
  });

  test('to a session that was replaced is refused', async () => {
    const session_id = await council();
    await council();
    await expect(respond(here.host, { session_id, content })).rejects.toThrow();
    expect(here.host.councilStore.read().feedback).toEqual([]);
  });

  test.each([[{ parent: '0badcafe', depth: 0 }], [{ parent: null, depth: 1 }]])(
    'is refused when an agent has started the page: %j',
    async (origin) => {
      const body = { session_id: await council(), content };
      const host = Object.create(here.host, { origin: { value: origin } });
      await expect(respond(host, body)).rejects.toMatchObject({
        code: 'not_yours'
      });
    }
  );
});

test('an engine is summoned to the session that the person sees', async () => {
  const { session } = await here.host.council.start('claude', 'Which?');
  const request = { engine: 'rehearsal', session_id: session.id };
  const summoned = await summonAgent(here.host, request);
  expect(summoned).toMatchObject({ agent_name: 'rehearsal', error: null });
  expect(here.host.store.recordOf(summoned.agent_id)).toMatchObject({
    ...{ engine: 'rehearsal', caller: { client: 'troupe web' } }
  });
  const other = { ...request, session_id: 'other' };
  await expect(summonAgent(here.host, other)).rejects.toThrow();
});
