import { mkdirSync, readFileSync, renameSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import {
  agentId,
  createLog,
  type TestLog
} from '../../../../test/kit/servers/logged-agents.ts';
import { needing } from '../../../../test/kit/workspaces/needs.ts';
import {
  canMount,
  mountSmallDisk
} from '../../../../test/kit/workspaces/small-disk.ts';
import { Journal } from './journal.ts';
import {
  type JournalEvent,
  maximumRecordBytes,
  parseRecord
} from './journal-record.ts';
import { verifyJournal } from './verify.ts';

let log: TestLog;

afterEach(() => log.workspace.remove());

const answered = {
  type: 'answered' as const,
  ...{ agent_id: agentId(1), ask_id: `${agentId(1)}-1` },
  ...{ by: 'coordinator', decision: null, waited_ms: 0 }
};

function records() {
  return readFileSync(log.path, 'utf8')
    .split('\n')
    .flatMap((line) => parseRecord(line) ?? []);
}

test('a record is one line of JSON, chained to the previous one', () => {
  log = createLog();
  log.spawn(agentId(1), 'line\n\u2028two\u0000');
  log.finish(agentId(1), 'ok');

  const [first, second] = records();
  expect(first).toMatchObject({
    writer: log.journal.writer,
    n: 0,
    prev: '0'.repeat(64),
    prompt: { chars: 10, text: 'line\n\u2028two\u0000' }
  });
  expect(second?.n).toBe(1);
  expect(second?.prev).toMatch(/^[0-9a-f]{64}$/);
  expect(readFileSync(log.path, 'utf8').split('\n')).toHaveLength(5);
});

test('only the user can read the journal and its heads', () => {
  log = createLog();
  log.spawn(agentId(1), 'x');
  for (const path of [log.path, join(log.heads, log.journal.writer)])
    expect(statSync(path).mode & 0o777).toBe(0o600);
});

test('every chain has a new name', async () => {
  log = createLog();
  log.spawn(agentId(1), 'x');
  const { writer, redact } = log.journal;
  const names = [writer, writer, '0badcafe'];
  const next = () => names.shift() ?? '';
  const other = new Journal(log.path, log.heads, redact, next);
  other.append({
    type: 'cancel_requested',
    agent_id: agentId(1),
    reason: null
  });
  expect(other.writer).toBe('0badcafe');
  const { faults, heads } = await verifyJournal(log.path, log.heads);
  expect(faults).toEqual([]);
  expect(heads.map((head) => head.writer)).toEqual([writer, '0badcafe']);
});

test('a record is kept when its head cannot be written, and the chain stays intact', async () => {
  log = createLog();
  log.spawn(agentId(1), 'x');
  renameSync(log.heads, `${log.heads}.away`);
  log.workspace.writeRecord('heads', 'no directory');
  log.finish(agentId(1), 'ok');
  rmSync(log.heads);
  renameSync(`${log.heads}.away`, log.heads);
  log.spawn(agentId(2), 'y');
  expect(records().map(({ n }) => n)).toEqual([0, 1, 2]);
  const { faults } = await verifyJournal(log.path, log.heads);
  expect(faults).toEqual([]);
});

test('no record exceeds 64 KB, whatever its content', async () => {
  log = createLog();
  for (const piece of ['\u0001', '한', '😀', '"', '\ud800', 'a'])
    for (const length of [1000, 6000, 12_000, 100_000]) {
      const long = piece.repeat(length);
      const id = agentId(length);
      log.spawn(id, long, { task: long, model: long, tools: long });
      const file = { path: long, added: 1, removed: 0 };
      log.finish(id, long, {
        ...{ error: long, model: long },
        files_changed: Array.from({ length: 100 }, () => file),
        files_changed_total: 100
      });
      log.journal.append({
        type: 'cancel_requested',
        agent_id: id,
        reason: long
      });
      log.journal.append({ ...answered, who: long, text: long });
    }
  const sizes = readFileSync(log.path, 'utf8')
    .split('\n')
    .map((line) => Buffer.byteLength(line));
  expect(Math.max(...sizes)).toBeLessThan(maximumRecordBytes);
  const { faults } = await verifyJournal(log.path, log.heads);
  expect(faults).toEqual([]);
});

test('the longest answer, error, model and files fit into one record', () => {
  log = createLog();
  const escaped = '\u0001'.repeat(10_000);
  const wide = (length: number) => '한'.repeat(length);
  const id = agentId(1);
  log.spawn(id, wide(11_990), { task: escaped, model: escaped });
  log.finish(id, wide(11_990), {
    ...{ error: escaped, model: escaped },
    files_changed: Array.from({ length: 20 }, (_, index) => ({
      ...{ path: `${wide(199)}${index}`, added: 1, removed: 0 }
    })),
    files_changed_total: 20
  });
  expect(records().map(({ type }) => type)).toEqual(['spawned', 'finished']);
});

test('a long text is recorded by its file and hash', () => {
  log = createLog();
  const long = 'y'.repeat(20_000);
  expect(log.journal.textOf(long, 'some/file')).toEqual({
    chars: 20_000,
    sha256: expect.stringMatching(/^[0-9a-f]{64}$/),
    path: 'some/file'
  });
});

test('no secret reaches the journal in any field', () => {
  const secret = 'a-known-secret';
  log = createLog({ secrets: [secret] });
  const token = `ghp_${'a1'.repeat(18)}`;
  for (const hidden of [secret, token]) {
    // Includes secrets that span the limit of a field.
    for (const cut of [0, 195, 395, 1995, 3995, 7995]) {
      const text = `${' '.repeat(cut)} ${hidden}`;
      const agent_id = agentId(1);
      const about = { agent_id, ask_id: `${agent_id}-1` };
      const texts = { task: text, model: text, tools: text, client: text };
      log.spawn(agent_id, text, texts);
      log.finish(agent_id, text, {
        ...{ error: text, model: text },
        files_changed: [{ path: text, added: 1, removed: 0 }]
      });
      for (const event of [
        { type: 'cancel_requested', agent_id, reason: text },
        {
          ...{ type: 'asked', ...about, kind: 'question' },
          ...{ tool: text, subject: text, asked_at: '' }
        },
        { ...answered, who: text, text },
        { type: 'acted', agent_id, action: 'responded', what: text, who: '' }
      ] satisfies JournalEvent[])
        log.journal.append(event);
    }
  }
  const all = readFileSync(log.path, 'utf8');
  expect(all).not.toMatch(/a-kn|ghp_/);
  expect(all).toContain('[redacted]');
});

test("servers that write at the same time do not damage each other's records", async () => {
  log = createLog();
  const writers = Array.from(
    { length: 5 },
    () => new Journal(log.path, log.heads, log.redact)
  );
  for (let round = 0; round < 20; round += 1)
    for (const writer of writers)
      writer.append({
        type: 'cancel_requested',
        agent_id: agentId(round),
        reason: null
      });
  const { records, heads, faults } = await verifyJournal(log.path, log.heads);
  expect(records).toBe(100);
  expect(heads.map(({ n }) => n)).toEqual([19, 19, 19, 19, 19]);
  expect(faults).toEqual([]);
});

needing('right to mount a small disk', canMount())(
  'on a full disk an append fails, and the chain goes on when there is space',
  async () => {
    log = createLog();
    const { record } = log.workspace;
    mkdirSync(record, { recursive: true });
    const disk = mountSmallDisk(record, 64);
    try {
      const fillUp = () => {
        for (let number = 0; number < 100; number += 1)
          log.journal.append({
            type: 'cancel_requested',
            agent_id: agentId(number),
            reason: 'r'.repeat(1900)
          });
      };
      log.spawn(agentId(1), 'x');
      disk.fill();
      expect(fillUp).toThrow(/ENOSPC/);
      expect(fillUp).toThrow(/ENOSPC/);
      disk.free();
      log.finish(agentId(1), 'y');

      const { records, faults } = await verifyJournal(log.path, log.heads);
      expect(faults).toEqual([]);
      expect(records).toBeGreaterThanOrEqual(2);
    } finally {
      disk.unmount();
    }
  }
);
