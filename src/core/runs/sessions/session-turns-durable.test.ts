import { join } from 'node:path';
import { beforeEach, expect, onTestFinished, test, vi } from 'vitest';
import {
  expectDurable,
  watchFiles
} from '../../../../test/kit/judges/file-operations.ts';
import {
  outcomeWith,
  recordWith
} from '../../../../test/kit/servers/run-facts.ts';
import { createTempWorkspace } from '../../../../test/kit/workspaces/temp-workspace.ts';
import { RunStore } from '../run-store.ts';
import {
  queueTurn,
  recordFirstTurn,
  reserveTurn,
  turnsDirectory
} from './session-turns.ts';

vi.mock('node:fs', async () => {
  const { watchedFs } = await import(
    '../../../../test/kit/judges/file-operations.ts'
  );
  return watchedFs();
});

const [engine, session, agent] = ['x', 'a-session', '0badcafe'];

let store: RunStore;
let turn: (number: number) => string;

beforeEach(() => {
  const workspace = createTempWorkspace();
  onTestFinished(workspace.remove);
  store = new RunStore(workspace.record);
  turn = (number) =>
    join(turnsDirectory(engine, session, store), String(number));
  watchFiles();
});

test('a reserved turn is on the disk', async () => {
  const tracker = { run: async () => undefined };
  const isFree = reserveTurn(engine, session, agent, store, tracker);
  await expect(isFree).resolves.toBe(true);
  expectDurable(turn(1));
});

test('a queued turn is on the disk', () => {
  queueTurn(engine, session, agent, store);
  expectDurable(turn(1));
});

test('the first turn of a session is on the disk', () => {
  const outcome = outcomeWith({ session_id: session });
  recordFirstTurn(recordWith({ engine }), outcome, store);
  expectDurable(turn(0));
});
