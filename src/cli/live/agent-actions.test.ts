import { rmSync } from 'node:fs';
import { beforeEach, expect, test } from 'vitest';
import { idOf, makeUp } from '../../../test/kit/agents/made-up-agents.ts';
import {
  type HostHere,
  hireWorker,
  hostHere
} from '../../../test/kit/servers/host-here.ts';
import {
  type WatchedAgent,
  watchedRun,
  watchedWorker
} from '../../interfaces/board/watched-agent.ts';
import { cancellationOf, whyNoReply } from './agent-actions.ts';

const id = idOf(0x11111111);

let here: HostHere;

beforeEach(async () => {
  here = await hostHere();
});

async function agent(daysAgo: number | null): Promise<WatchedAgent> {
  const made = { agent_id: id, daysAgo, task: 't'.repeat(40) };
  makeUp(here.workspace.record, made);
  const run = await here.host.tracker.run(id);
  if (!run) throw new Error('There is no such agent.');
  return watchedRun(here.host, run);
}

test('an agent at work is canceled after a question', async () => {
  const cancellation = cancellationOf(here.host, await agent(null));
  expect(cancellation).toMatchObject({
    question: `Cancel ${id} (${'t'.repeat(29)}…)?`
  });
  expect(await Object(cancellation).perform()).toBe(`${id} is canceled.`);
  const run = await here.host.tracker.run(id);
  expect(run?.outcome?.error).toContain('from troupe watch');
});

test('an agent whose record is removed meanwhile no longer exists', async () => {
  const cancellation = cancellationOf(here.host, await agent(null));
  rmSync(here.host.store.directoryOf(id), { recursive: true });
  expect(await Object(cancellation).perform()).toBe(`${id} no longer exists.`);
});

test('an agent that has ended is not canceled, and gets a reply', async () => {
  const ended = await agent(1);
  expect(cancellationOf(here.host, ended)).toBe(
    `${id} has ended already (completed).`
  );
  expect(whyNoReply(ended)).toBeUndefined();
});

test('an agent at work gets no reply', async () => {
  expect(whyNoReply(await agent(null))).toBe(
    `${id} is queued; reply when it has ended.`
  );
});

test('a worker gets no reply, and has no task to cancel until it runs one', async () => {
  const worker = hireWorker(here, 'aaaaaaaa', { name: 'On\ne' });
  const shown = watchedWorker(worker);
  expect(whyNoReply(shown)).toMatch(/^A worker takes tasks/);
  expect(cancellationOf(here.host, shown)).toMatch(
    /^Worker On e has no task to cancel/
  );
});
