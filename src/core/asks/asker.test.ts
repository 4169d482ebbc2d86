import { existsSync } from 'node:fs';
import { beforeEach, expect, onTestFinished, test } from 'vitest';
import { until } from '../../../test/kit/judges/until.ts';
import { createTempWorkspace } from '../../../test/kit/workspaces/temp-workspace.ts';
import { askFile, asksIn, createAskFolder, decide } from './ask-files.ts';
import { Asker, type AskRequest, type AskSettings } from './asker.ts';
import { holdAll, release, unpark } from './parking.ts';

const agentId = '1a2b3c4d';
const first = { ask_id: `${agentId}-1` };
const allow = { decision: 'allow', text: null, by: 'person' } as const;
const self = { pid: process.pid, start: '', place: 'here' };
const request: AskRequest = {
  ...{ kind: 'permission', tool: 'Bash', subject: { command: 'make' } },
  ...{ needs: 'full', call: '["Bash",{"command":"make"}]' }
};

let directory: string;
/** How often the run was to be parked. */
let attempts: number;

beforeEach(() => {
  const workspace = createTempWorkspace();
  onTestFinished(() => workspace.remove());
  directory = workspace.path;
  attempts = 0;
  createAskFolder(directory);
});

function ask(
  more: Partial<AskSettings> = {},
  signal = AbortSignal.any([]),
  what = request
) {
  const settings: AskSettings = {
    ...{ agentId, engine: 'x', seconds: 60, access: 'read' },
    ...{ cwd: directory, workspace: directory, edits: [], reads: [] },
    rules: { allow: [], deny: [] },
    ...more
  };
  const startParking = () => {
    attempts += 1;
  };
  const asker = new Asker({ directory, settings, self, startParking });
  return asker.ask(what, signal);
}

const there = (name: string) =>
  until(name, () => existsSync(askFile(directory, name)));

test('an ask that waits for long offers to park its run', async () => {
  const answer = ask({ parkAfterSeconds: 0.1 });
  await there('1.call');
  expect(attempts).toBe(1);
  decide(directory, first, allow);
  expect(await answer).toMatchObject(allow);
});

test('a question is recorded with its options and its reason', async () => {
  const question: AskRequest = {
    ...{ kind: 'question', tool: 'ask_coordinator' },
    ...{ subject: { question: 'Which?' }, options: ['red', 'blue'] },
    ...{ reason: 'Both fit.', needs: 'write', call: '["ask_coordinator",{}]' }
  };
  const answer = ask({}, AbortSignal.any([]), question);
  await there('1.json');
  expect(asksIn(directory, agentId)).toMatchObject([
    { options: ['red', 'blue'], reason: 'Both fit.' }
  ]);
  decide(directory, first, { decision: null, text: 'red', by: 'person' });
  expect(await answer).toMatchObject({ text: 'red' });
});

test('an ask of a run that cannot be parked leaves no marks', async () => {
  const answer = ask();
  await there('1.json');
  decide(directory, first, allow);
  expect(await answer).toMatchObject(allow);
  expect(attempts).toBe(0);
  for (const mark of ['1.call', '1.taken'])
    expect(existsSync(askFile(directory, mark))).toBe(false);
});

test('an answer stays away from the program while the ask is held', async () => {
  let isGiven = false;
  const answer = ask({ parkAfterSeconds: 0.1 }).then((given) => {
    isGiven = true;
    return given;
  });
  await there('1.call');
  expect(holdAll(directory, agentId, 0)).toMatchObject([first]);
  decide(directory, first, allow);
  // A younger ask that is answered shows that the older one has looked.
  const other = ask({ parkAfterSeconds: 60 });
  await there('2.json');
  decide(directory, { ask_id: `${agentId}-2` }, allow);
  await other;
  expect(isGiven).toBe(false);
  release(directory);
  expect(await answer).toMatchObject(allow);
});

test('an ask that is held is not ended by its bridge', async () => {
  const controller = new AbortController();
  const answer = ask({ parkAfterSeconds: 0.1 }, controller.signal);
  await there('1.call');
  holdAll(directory, agentId, 0);
  controller.abort();
  const other = ask({ parkAfterSeconds: 60 });
  await there('2.json');
  decide(directory, { ask_id: `${agentId}-2` }, allow);
  await other;
  expect(existsSync(askFile(directory, '1.answer'))).toBe(false);
  release(directory);
  expect(await answer).toMatchObject({ decision: 'deny', by: 'asker_gone' });
});

test('the call of a parked run gets its answer without another ask', async () => {
  const parked = { session: 's', asks: [first.ask_id], parker: self };
  const answer = ask({ parkAfterSeconds: 0.1 });
  await there('1.call');
  holdAll(directory, agentId, 0);
  decide(directory, first, { ...allow, decision: 'deny', text: 'No.' });
  unpark(directory, parked);
  const again = await ask({ parkAfterSeconds: 60 });
  expect(again).toMatchObject({ decision: 'deny', text: 'No.' });
  expect(existsSync(askFile(directory, '2.json'))).toBe(false);
  // Its program is gone, so that this answer goes nowhere.
  await answer;
});
