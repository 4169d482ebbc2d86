import { beforeEach, expect, onTestFinished, test, vi } from 'vitest';
import { recordWith } from '../../../../test/kit/servers/run-facts.ts';
import { createTempWorkspace } from '../../../../test/kit/workspaces/temp-workspace.ts';
import { RunStore } from '../../runs/run-store.ts';
import { answerTo, createAsk, createAskFolder } from '../ask-files.ts';
import { Asks } from './asks.ts';

const record = recordWith({ ask: 'person' });
const agent_id = record.agent_id;
const hourMs = 3_600_000;

let directory: string;
let asks: Asks;

beforeEach(() => {
  const workspace = createTempWorkspace();
  onTestFinished(() => workspace.remove());
  const store = new RunStore(workspace.record);
  store.create(record, 'x', 'x');
  directory = store.directoryOf(agent_id);
  createAskFolder(directory);
  const origin = { parent: null, depth: 0 };
  asks = new Asks({
    store,
    processes: { liveness: () => 'alive' },
    journal: { append: () => undefined },
    authority: { store, origin, maxAccess: 'full' }
  });
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
