import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterEach, beforeEach, expect, test } from 'vitest';
import {
  agentId,
  createLog,
  endOf,
  spawnOf,
  type TestLog
} from '../../../../test/kit/servers/logged-agents.ts';
import {
  spoiltAgent,
  spoiltLine
} from '../../../../test/kit/workspaces/spoilt-records.ts';
import { parseRecord } from './journal-record.ts';
import { recentlyEnded } from './recently-ended.ts';
import { verifyJournal } from './verify.ts';

let log: TestLog;

beforeEach(() => {
  log = createLog();
});

afterEach(() => log.workspace.remove());

const noon = new Date('2026-11-21T12:00:00Z');
const at = noon.toISOString();

test('a foreign line of any content does not hide the other lines', async () => {
  log.run(0, 3);
  const before = readFileSync(log.path, 'utf8');
  log.run(3, 5);
  const after = readFileSync(log.path, 'utf8').slice(before.length);
  await fc.assert(
    fc.asyncProperty(
      fc.array(spoiltLine, { minLength: 1, maxLength: 3 }),
      async (lines) => {
        rmSync(join(log.logDirectory, 'IAC.md'), { force: true });
        const foreign = lines.map((line) => `\n${line}\n`).join('');
        writeFileSync(log.path, before + foreign);
        await log.newView().render([], noon);
        writeFileSync(log.path, before + foreign + after);
        // Continues from the bookmark, like another process.
        await log.newView().render([], noon);
        const shown = log.entries().filter(({ id }) => id !== spoiltId);
        expect(shown.map(({ id }) => id)).toEqual([4, 3, 2, 1, 0].map(agentId));
        expect(shown.every(({ done }) => done)).toBe(true);
        expect(recentlyEnded(log.journal.files, 9)).toEqual(
          expect.arrayContaining([0, 1, 2, 3, 4].map(agentId))
        );
        const { faults } = await verifyJournal(log.path, log.heads);
        // `verify` must report lines that are not records.
        if (lines.some((line) => !parseRecord(line) && !isOfOtherKind(line)))
          expect(faults).not.toEqual([]);
      }
    ),
    { numRuns: 150 }
  );
});

const spoiltId = agentId(spoiltAgent);

/** A record of an unknown type. */
function isOfOtherKind(line: string): boolean {
  const { type } = JSON.parse(line);
  const ours = ['spawned', 'finished', 'cancel_requested', 'cleaned'];
  return typeof type === 'string' && !ours.includes(type);
}

test.each<[string, object]>([
  ['nothing but its type', { type: 'spawned', agent_id: '0badf00d' }],
  ['no duration', { at, ...endOf(1), duration_ms: undefined }],
  ['a text for a number', { at, ...endOf(1), duration_ms: '1' }],
  ['a cost that is a text', { at, ...endOf(1), cost_usd: '1' }],
  ['a negative cost', { at, ...endOf(1), cost_usd: -1 }],
  ['a cost that prints with an exponent', { at, ...endOf(1), cost_usd: 1e21 }],
  [
    'a time that prints with an exponent',
    { at, ...endOf(1), duration_ms: 1e24 }
  ],
  ['a status of its own', { at, ...endOf(1), status: 'fine' }],
  ['no time', { ...spawnOf(1) }],
  ['a time that is none', { at, ...spawnOf(1), created_at: 'yesterday' }],
  [
    'a month that is none',
    { at, ...spawnOf(1), created_at: at.replace('11', '13') }
  ],
  ['a number for a word', { at, ...spawnOf(1), task: 7 }],
  ['a program that is no word', { at, ...spawnOf(1), command: 7 }],
  ['files that are none', { at, ...endOf(1), files_changed: [{ path: 7 }] }],
  ['a list of files that is none', { at, ...endOf(1), files_changed: {} }],
  ['half a character', { at, ...endOf(1), result: { chars: 0.5, text: 'x' } }],
  ['no prompt', { at, ...spawnOf(1), prompt: null }],
  ['an id that is none', { at, ...spawnOf(1), agent_id: '`# x' }],
  [
    'a text of another place',
    { at, ...endOf(1), result: { chars: 9, path: '../../.ssh/id_ed25519' } }
  ],
  [
    'a text of another agent',
    { at, ...endOf(1), result: { chars: 9, path: '.agents/spawns/0000000a/x' } }
  ]
])('a record with %s is rejected', (_, record) => {
  expect(parseRecord(JSON.stringify(record))).toBeUndefined();
});
