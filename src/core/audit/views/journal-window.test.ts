import { appendFileSync, readFileSync, writeFileSync } from 'node:fs';
import { afterEach, beforeEach, expect, test } from 'vitest';
import {
  agentId,
  createLog,
  endOf,
  type TestLog
} from '../../../../test/kit/servers/logged-agents.ts';
import { JournalWindow } from './journal-window.ts';

let log: TestLog;

beforeEach(() => {
  log = createLog();
});

afterEach(() => log.workspace.remove());

async function openWhole(): Promise<JournalWindow> {
  const { files } = log.journal;
  return JournalWindow.openWhole(files, files.list(), 0, () => undefined);
}

function entryIn(window: JournalWindow, number: number) {
  const entry = window.entries.get(agentId(number));
  if (!entry) throw new Error(`Agent ${number} is not in the window.`);
  return entry;
}

test('only the newest agents of a long journal keep their records in memory', async () => {
  for (const first of [0, 200, 400]) {
    log.run(first, first + 200);
    await log.rotate();
  }
  log.run(600, 700);
  const window = await openWhole();
  await log.rotate();

  const known = [...window.entries.values()].filter(({ known }) => known);
  expect(known.map(({ ordinal }) => ordinal)).toEqual(
    Array.from({ length: 400 }, (_, index) => 300 + index)
  );
  for (const number of [0, 199, 200, 299, 300, 699])
    expect(window.recordsOf(entryIn(window, number))).toMatchObject({
      spawned: { agent_id: agentId(number), task: `task ${number}` },
      finished: { result: { text: `answer ${number}` } }
    });
});

test('a late end is found together with its spawn', async () => {
  log.spawn(agentId(0), '한'.repeat(900));
  log.run(1, 450);
  const window = await openWhole();
  expect(window.recordsOf(entryIn(window, 0)).finished).toBe(undefined);
  await log.rotate();
  const at = new Date().toISOString();
  // Invalid UTF-8, and a last line without a newline.
  const [head, tail] = JSON.stringify({ at, ...endOf(0) }).split('answer');
  appendFileSync(log.path, Buffer.from(`\n${head}`));
  appendFileSync(log.path, Buffer.from([0xff, 0xfe, 0xfd]));
  appendFileSync(log.path, Buffer.from(`${tail}`));
  await log.rotate();
  await window.update(log.journal.files.list());

  expect(window.recordsOf(entryIn(window, 0))).toMatchObject({
    spawned: { agent_id: agentId(0) },
    finished: { result: { text: '\ufffd\ufffd\ufffd 0' } }
  });
});

test('an agent that is recorded twice keeps its first record', async () => {
  for (const task of ['first', 'second']) log.spawn(agentId(0), task, { task });
  log.finish(agentId(0), 'answer');
  const window = await openWhole();
  expect(entryIn(window, 0).ordinal).toBe(0);
  expect(window.recordsOf(entryIn(window, 0))).toMatchObject({
    spawned: { task: 'first' },
    finished: { result: { text: 'answer' } }
  });
});

test('a line that was changed after it was read is not taken for a record', async () => {
  log.run(0, 450);
  const window = await openWhole();
  const text = readFileSync(log.path, 'utf8');
  writeFileSync(log.path, text.replaceAll('{', '['));
  expect(() => window.recordsOf(entryIn(window, 0))).toThrow(
    /iac\.jsonl was changed while it was read/
  );
});
