import { appendFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, expect, test } from 'vitest';
import { idOf, makeUp } from '../../../../test/kit/agents/made-up-agents.ts';
import {
  type HostHere,
  hostHere
} from '../../../../test/kit/servers/host-here.ts';
import { AgentTopic } from './agent-topic.ts';
import { Revisions } from './row-log.ts';

const id = idOf(0x11111111);

let here: HostHere;
let stdout: string;
let revisions: Revisions;
let topic: AgentTopic;

beforeEach(async () => {
  here = await hostHere();
  const directory = makeUp(here.workspace.record, {
    ...{ agent_id: id, daysAgo: null }
  });
  stdout = join(directory, 'stdout');
  revisions = new Revisions();
  topic = new AgentTopic(here.host, id, revisions);
});

function output(...events: { type: string; text: string }[]): Promise<void> {
  for (const event of events)
    appendFileSync(stdout, `${JSON.stringify(event)}\n`);
  return topic.refresh();
}

const step = (text: string) => ({ type: 'progress', text });
const done = (text: string) => ({ type: 'done', text });

test('a reader gets the steps and the text that it lacks', async () => {
  expect(topic.since(0)).toBeUndefined();
  await output(step('one'), step('two'));
  const first = revisions.last;
  expect(first).toBe(1);
  expect(topic.since(0)).toMatchObject({
    ...{ isAll: true, step: 0, steps: ['one', 'two'], offset: 0, text: '' }
  });
  await output(step('three'), done('fine'));
  expect(topic.since(first)).toMatchObject({
    ...{ isAll: false, step: 2, steps: ['three'], offset: 0, text: 'fine' }
  });
  expect(topic.since(revisions.last)).toBeUndefined();
  expect(topic.since(0)).toMatchObject({ isAll: true, step: 0 });
});

test('a refresh without more output changes nothing', async () => {
  await output(step('one'));
  await topic.refresh();
  expect(revisions.last).toBe(1);
});

test('an agent without a record has nothing to send', async () => {
  const unknown = new AgentTopic(here.host, idOf(0x22222222), revisions);
  await unknown.refresh();
  expect(unknown.since(0)).toBeUndefined();
});

test('a new reader gets the last 500 steps of an agent', async () => {
  const steps = Array.from({ length: 501 }, (_, n) => step(`step ${n}`));
  await output(...steps);
  const change = topic.since(0);
  expect([change?.step, change?.steps.length]).toEqual([1, 500]);
  expect(change?.steps[0]).toBe('step 1');
});

test('steps that are no longer kept keep their number', async () => {
  const steps = Array.from({ length: 5001 }, (_, n) => step(`step ${n}`));
  await output(...steps.slice(0, 1));
  await output(...steps.slice(1));
  expect(topic.since(1)).toMatchObject({ isAll: false, step: 1 });
  expect(topic.since(1)?.steps[0]).toBe('step 1');
});

test('a long step is cut', async () => {
  await output(step('s'.repeat(501)));
  expect(topic.since(0)?.steps).toEqual([`${'s'.repeat(500)}…`]);
});

test('a text that has not only grown is sent from its beginning', async () => {
  const plain = { agent_id: idOf(3), daysAgo: null, engine: 'plain' };
  const directory = makeUp(here.workspace.record, plain);
  const file = join(directory, 'stdout');
  topic = new AgentTopic(here.host, idOf(3), revisions);
  writeFileSync(file, 'one');
  await topic.refresh();
  appendFileSync(file, ' two');
  await topic.refresh();
  expect(topic.since(1)).toMatchObject({
    ...{ isAll: false, offset: 3, text: ' two', steps: [] }
  });
  writeFileSync(file, 'another one');
  await topic.refresh();
  expect(topic.since(2)).toMatchObject({
    ...{ isAll: true, offset: 0, text: 'another one' }
  });
});

test('a reader that lacks more than 64 KiB gets the end of the text', async () => {
  const plain = { agent_id: idOf(3), daysAgo: null, engine: 'plain' };
  const directory = makeUp(here.workspace.record, plain);
  const file = join(directory, 'stdout');
  topic = new AgentTopic(here.host, idOf(3), revisions);
  writeFileSync(file, 'a');
  await topic.refresh();
  appendFileSync(file, 'b'.repeat(64 * 1024));
  await topic.refresh();
  expect(topic.since(1)).toMatchObject({ isAll: false, offset: 1 });
  appendFileSync(file, 'c');
  await topic.refresh();
  expect(topic.since(1)).toMatchObject({ isAll: true, offset: 2 });
  expect(topic.since(1)?.text).toHaveLength(64 * 1024);
});
