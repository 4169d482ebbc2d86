import { appendFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { idOf, makeUp } from '../../../test/kit/agents/made-up-agents.ts';
import {
  createTempWorkspace,
  type TempWorkspace
} from '../../../test/kit/workspaces/temp-workspace.ts';
import { bytesBelow } from '../state/files/directories.ts';
import { checkDisk } from './admission/admission.ts';
import { RunStore } from './run-store.ts';

let workspace: TempWorkspace;
let state: string;

beforeEach(() => {
  workspace = createTempWorkspace();
  state = workspace.record;
});

afterEach(() => workspace.remove());

const newStore = () => new RunStore(state);

function agent(number: number, bytes: number, daysAgo: number | null = 1) {
  const agent_id = idOf(number);
  return bytesBelow(makeUp(workspace.record, { agent_id, daysAgo, bytes }));
}

const megabyte = 1024 * 1024;

test('agents that ended before there was a ledger are counted', () => {
  const bytes = agent(1, 1000) + agent(2, 2000);
  expect(newStore().sizes.total()).toBe(bytes);
  expect(newStore().sizes.total()).toBe(bytes);
});

test('ends and removals in any server count at once', () => {
  const [one, two] = [newStore(), newStore()];
  expect([one.sizes.total(), two.sizes.total()]).toEqual([0, 0]);
  const bytes = agent(1, 1000);
  one.sizes.note(idOf(1));
  one.sizes.note(idOf(1));
  expect([one.sizes.total(), two.sizes.total()]).toEqual([bytes, bytes]);
  two.sizes.noteGone(idOf(1), bytes, new Date(0));
  expect([one.sizes.total(), two.sizes.total()]).toEqual([0, 0]);
  expect(one.sizes.goneAt(idOf(1))).toBe('1970-01-01T00:00:00.000Z');
  expect(one.sizes.goneAt(idOf(2))).toBeUndefined();
});

test('torn and unknown lines affect no other line, and the ledger may be removed', () => {
  const store = newStore();
  const bytes = agent(1, 10);
  expect(store.sizes.total()).toBe(bytes);
  appendFileSync(
    join(state, 'counts', 'sizes'),
    `nonsense\n${idOf(1)} 12x\n0000`
  );
  const more = agent(2, 10);
  store.sizes.note(idOf(2));
  expect(store.sizes.total()).toBe(bytes + more);
  rmSync(join(state, 'counts', 'sizes'));
  expect(store.sizes.total()).toBe(bytes + more);
});

test('a spawn above the limit is refused with the reason', () => {
  const store = newStore();
  agent(1, 2 * megabyte);
  expect(() => checkDisk(3, store)).not.toThrow();
  expect(() => checkDisk(0, store)).not.toThrow();
  expect(() => checkDisk(1, store)).toThrow(
    expect.objectContaining({
      code: 'disk_limit',
      message: 'The folders of agents hold 3 MB; diskLimitMegabytes is 1.',
      hint: expect.stringContaining('"troupe clean"')
    })
  );
});

test('the output of an agent at work counts, and folders removed by hand do not', () => {
  const store = newStore();
  agent(1, 0, null);
  workspace.writeRecord(`spawns/${idOf(1)}/stdout`, 'x'.repeat(2 * megabyte));
  expect(() => checkDisk(1, store)).toThrow('The folders of agents hold');
  rmSync(store.directoryOf(idOf(1)), { recursive: true });
  agent(2, 2 * megabyte);
  store.sizes.note(idOf(2));
  expect(() => checkDisk(1, store)).toThrow('The folders of agents hold');
  rmSync(store.directoryOf(idOf(2)), { recursive: true });
  expect(() => checkDisk(1, store)).not.toThrow();
});

test('the check reads only what was added since the last one', () => {
  const lines = Array.from({ length: 10_000 }, (_, index) => [
    `${idOf(index)} 20480`,
    index % 2 === 0 ? `${idOf(index)} -20480 2026-11-21T08:11:25.000Z` : ''
  ]);
  const known = `${lines.flat().join('\n\n')}\nwhole\n`;
  const ledger = workspace.writeRecord('counts/sizes', known);
  const store = newStore();
  expect(store.sizes.total()).toBe(5000 * 20_480);
  // Another look at these lines would find no size in them.
  writeFileSync(ledger, known.replaceAll('20480', '00000'));
  appendFileSync(ledger, `${idOf(20_000)} 100\n`);
  expect(store.sizes.total()).toBe(5000 * 20_480 + 100);
  expect(() => checkDisk(1000, store)).not.toThrow();
});
