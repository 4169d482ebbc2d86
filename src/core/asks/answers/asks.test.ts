import { readFileSync } from 'node:fs';
import { beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import {
  createLog,
  type TestLog
} from '../../../../test/kit/servers/logged-agents.ts';
import { recordWith } from '../../../../test/kit/servers/run-facts.ts';
import { RunStore } from '../../runs/run-store.ts';
import { answerTo, askFile, createAsk, createAskFolder } from '../ask-files.ts';
import { Asks } from './asks.ts';

const record = recordWith({ ask: 'coordinator' });
const agent_id = record.agent_id;
const hourMs = 3_600_000;

let directory: string;
let store: RunStore;
let asks: Asks;
let log: TestLog;
/** The types of the events in the journal. */
let journalled: string[];
/** Why the journal accepts no event; undefined while it does. */
let refusal: Error | undefined;

beforeEach(() => {
  log = createLog();
  const { workspace } = log;
  onTestFinished(() => workspace.remove());
  store = new RunStore(workspace.record);
  store.create(record, 'x', 'x');
  directory = store.directoryOf(agent_id);
  createAskFolder(directory);
  journalled = [];
  refusal = undefined;
  asks = newAsks();
});

/** The asks as another process sees them that has looked at none. */
function newAsks(): Asks {
  const origin = { parent: null, depth: 0 };
  return new Asks({
    store,
    processes: { liveness: () => 'alive' },
    journal: {
      append: (event) => {
        if (refusal) throw refusal;
        journalled.push(event.type);
        log.journal.append(event);
      },
      nameOf: (name) => log.journal.nameOf(name)
    },
    authority: { store, origin, maxAccess: 'full' }
  });
}

const fullDisk = Object.assign(new Error('ENOSPC: no space left'), {
  code: 'ENOSPC'
});

/** An ask that may wait for a minute, of a bridge that lives. */
function asked() {
  return createAsk(directory, {
    ...{ agent_id, kind: 'permission', tool: 'Bash' },
    ...{ subject: { command: 'make' }, needs: 'full' },
    bridge: { pid: 1, start: '2', place: 'here' },
    asked_at: new Date().toISOString(),
    expires_at: new Date(Date.now() + 60_000).toISOString()
  });
}

test('an ask waits for its bridge though the clock is set and the machine sleeps', () => {
  vi.useFakeTimers({ toFake: ['performance', 'Date'] });
  onTestFinished(() => void vi.useRealTimers());
  const ask = asked();
  asks.attend(record);
  vi.setSystemTime(Date.now() + hourMs);
  vi.advanceTimersByTime(hourMs);
  asks.attend(record);
  expect(answerTo(directory, ask)).toBeUndefined();
});

test('an ask whose bridge lets its time pass is refused', () => {
  vi.useFakeTimers({ toFake: ['performance'] });
  onTestFinished(() => void vi.useRealTimers());
  const ask = asked();
  const attend = (seconds: number) => {
    for (let second = 0; second < seconds; second += 1) {
      vi.advanceTimersByTime(1000);
      asks.attend(record);
    }
    return answerTo(directory, ask);
  };
  expect(attend(65)).toBeUndefined();
  expect(attend(2)).toMatchObject({ decision: 'deny', by: 'timeout' });
});

describe('the name of a client that answers', () => {
  const before = 'x'.repeat(180);
  const token = `ghp_${'a1'.repeat(18)}`;
  const client = `${before} ${token} ${'y'.repeat(100_000)}`;

  test.each([
    ['of a model', '', { client }],
    ['with a form', 'form of ', { form: client }]
  ])('%s is redacted and cut, as that of one that spawns', (_, door, by) => {
    const ask = asked();
    asks.answer({ askId: ask.ask_id, decision: 'deny' }, by);
    const who = expect.stringMatching(
      new RegExp(`^${door}${before} \\[redacted\\]( y*)?$`)
    );
    const answered = log.journalText().trim().split('\n').at(-1) ?? '';
    const file = readFileSync(askFile(directory, '1.answer'), 'utf8');
    expect(JSON.parse(answered)).toMatchObject({ type: 'answered', who });
    expect(JSON.parse(file)).toMatchObject({ decision: 'deny', who });
    expect(answered.length + file.length).toBeLessThan(2000);
  });
});

test('an ask that the journal refused waits on, and is journalled once it can be', () => {
  const ask = asked();
  refusal = fullDisk;
  for (let look = 0; look < 2; look += 1)
    expect(() => asks.attend(record)).toThrow(fullDisk);
  expect(answerTo(directory, ask)).toBeUndefined();
  expect(asks.open([record])).toEqual([{ ask, record }]);
  refusal = undefined;
  for (let look = 0; look < 2; look += 1) asks.attend(record);
  expect(journalled).toEqual(['asked']);
});

test('an answer that the journal refused reaches the agent, and is journalled once', () => {
  const ask = asked();
  asks.attend(record);
  refusal = fullDisk;
  const answer = () =>
    asks.answer({ askId: ask.ask_id, decision: 'allow' }, 'command line');
  expect(answer).toThrow(fullDisk);
  expect(answerTo(directory, ask)).toMatchObject({ decision: 'allow' });
  refusal = undefined;
  for (let look = 0; look < 2; look += 1) asks.attend(record);
  expect(journalled).toEqual(['asked', 'answered']);
  // Another process reads in the folder what is journalled.
  newAsks().attend(record);
  expect(journalled).toEqual(['asked', 'answered']);
});

test('a run whose asks the journal refused ends with all its asks refused', () => {
  const all = [asked(), asked()];
  refusal = fullDisk;
  expect(() => asks.close(record)).toThrow(fullDisk);
  for (const ask of all)
    expect(answerTo(directory, ask)).toMatchObject({
      decision: 'deny',
      by: 'run_ended'
    });
  refusal = undefined;
  asks.close(record);
  expect(journalled).toEqual(['asked', 'answered', 'asked', 'answered']);
});

test('asks whose time is over are refused, also after one that the journal refused', () => {
  vi.useFakeTimers({ toFake: ['performance'] });
  onTestFinished(() => void vi.useRealTimers());
  const all = [asked(), asked()];
  refusal = fullDisk;
  for (let second = 0; second < 67; second += 1) {
    vi.advanceTimersByTime(1000);
    expect(() => asks.attend(record)).toThrow(fullDisk);
  }
  for (const ask of all)
    expect(answerTo(directory, ask)).toMatchObject({ by: 'timeout' });
});
