import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterEach, beforeEach, expect, test } from 'vitest';
import {
  agentId,
  createLog,
  type TestLog
} from '../../../../test/kit/servers/logged-agents.ts';
import { Journal } from './journal.ts';
import { verifyJournal } from './verify.ts';

let log: TestLog;
let other: Journal;

/**
 * Six records of one writer and two of another, on the even lines 2 to 16,
 * because each record starts with a newline.
 */
beforeEach(() => {
  log = createLog();
  other = new Journal(log.path, log.heads, log.redact);
  for (let number = 0; number < 6; number += 1) {
    log.spawn(agentId(number), `prompt ${number}`);
    if (number % 3 === 0)
      other.append({
        type: 'cancel_requested',
        agent_id: agentId(number),
        reason: null
      });
  }
});

afterEach(() => log.workspace.remove());

function change(how: (lines: string[]) => string[]): void {
  const lines = readFileSync(log.path, 'utf8').split('\n');
  writeFileSync(log.path, how(lines).join('\n'));
}

/** Changes one line, numbered from 1. */
function edit(number: number, how: (line: string) => string): void {
  change((lines) =>
    lines.map((line, index) => (index === number - 1 ? how(line) : line))
  );
}

const verify = () => verifyJournal(log.path, log.heads);

/** A whole record of a writer, as it may be forged. */
function cancelBy(writer: string, n: unknown, prev = ''): string {
  return JSON.stringify({
    ...{ writer, n, prev, at: '2026-01-01T00:00:00.000Z' },
    ...{ type: 'cancel_requested', agent_id: agentId(5), reason: null }
  });
}

async function firstFault() {
  const { faults } = await verify();
  return faults[0];
}

test('an unchanged journal has no fault', async () => {
  const { records, torn, faults, heads } = await verify();
  expect({ records, torn, faults }).toEqual({
    records: 8,
    torn: 0,
    faults: []
  });
  expect(heads.map(({ writer, n }) => [writer, n])).toEqual([
    [log.journal.writer, 5],
    [other.writer, 1]
  ]);
});

test('a missing journal has no fault', async () => {
  rmSync(log.path);
  rmSync(log.heads, { recursive: true });
  expect(await verify()).toEqual({
    records: 0,
    heads: [],
    torn: 0,
    faults: []
  });
});

test.each([2, 4, 6, 10, 14, 16])(
  'a changed word on line %i is reported with that line',
  async (line) => {
    edit(line, (text) => text.replace(/"at":"2/, '"at":"1'));
    expect(await firstFault()).toMatchObject({
      line,
      problem: expect.stringMatching(/^record \d of writer .* was changed$/)
    });
    expect((await verify()).faults).toHaveLength(1);
  }
);

test('a changed link is reported with its own line', async () => {
  edit(10, (text) => text.replace(/"prev":"..../, '"prev":"0000'));
  expect((await verify()).faults).toMatchObject([{ line: 10 }]);
});

test.each([2, 6, 10, 14])('a deleted line %i is reported', async (line) => {
  change((lines) => lines.filter((_, index) => index !== line - 1));
  expect((await firstFault())?.problem).toMatch(/is missing before/);
});

test.each([8, 10, 16])('a repeated line %i is reported', async (line) => {
  change((lines) => [...lines, lines[line - 1] ?? '', '']);
  expect((await firstFault())?.problem).toMatch(/is repeated/);
});

test('swapped lines are reported', async () => {
  change((lines) => {
    const swapped = [...lines];
    [swapped[5], swapped[7]] = [lines[7] ?? '', lines[5] ?? ''];
    return swapped;
  });
  expect(await firstFault()).toMatchObject({ line: 6 });
});

test('lines of two writers may be in any relative order', async () => {
  change((lines) => {
    const isOther = (line: string) => line.includes(other.writer);
    return [
      ...lines.filter(isOther),
      ...lines.filter((line) => !isOther(line))
    ];
  });
  expect((await verify()).faults).toEqual([]);
});

test('the heads reveal a cut end', async () => {
  change((lines) => lines.slice(0, -2));
  const { faults } = await verify();
  expect(faults.map(({ problem }) => problem)).toEqual([
    `records 5 to 5 of writer ${log.journal.writer} are missing`
  ]);
});

test('a head reveals that its whole chain is missing', async () => {
  change((lines) => lines.filter((line) => !line.includes(other.writer)));
  expect((await firstFault())?.problem).toBe(
    `all records of writer ${other.writer} are missing`
  );
});

test('the heads reveal that the whole journal is missing', async () => {
  rmSync(log.path);
  expect((await verify()).faults).toHaveLength(2);
});

test('a head reveals a rewritten end with matching links', async () => {
  change((lines) => lines.slice(0, -2));
  const head = (await verify()).heads[0];
  const forged = cancelBy(log.journal.writer, 5, head?.hash);
  change((lines) => [...lines, forged, '']);
  expect((await firstFault())?.problem).toMatch(/record 5 .* was changed/);
});

test('a head that is one record behind, because its writer was killed, is not a fault', async () => {
  const head = join(log.heads, log.journal.writer);
  const before = readFileSync(head, 'utf8');
  log.spawn(agentId(9), 'x');
  writeFileSync(head, before);
  expect((await verify()).faults).toEqual([]);
});

test('a torn record of a killed writer is not a fault, wherever it was cut', async () => {
  log.spawn(agentId(9), 'last');
  const lines = readFileSync(log.path, 'utf8').trimEnd().split('\n');
  const last = lines.pop() ?? '';
  rmSync(join(log.heads, log.journal.writer));
  for (let length = 1; length < last.length; length += 1) {
    writeFileSync(log.path, [...lines, last.slice(0, length)].join('\n'));
    const { records, torn, faults } = await verify();
    expect({ length, records, torn, faults }).toEqual({
      length,
      records: 8,
      torn: 1,
      faults: []
    });
  }
});

test('a short write that its writer repeated is not a fault', async () => {
  edit(10, (line) => {
    const earlier = line.replace(/"at":"....-../, '"at":"2025-01');
    return [line.slice(0, 300), earlier.slice(0, 170), line].join('\n\n');
  });
  const { torn, faults } = await verify();
  expect({ torn, faults }).toEqual({ torn: 2, faults: [] });
});

test.each([
  ['prose', 'somebody was here'],
  ['foreign JSON', '{"type":"finished","agent_id":"00000001"}'],
  ['a list', '[1,2,3]'],
  ['a torn record of nobody', '{"writer":"zzzz'],
  ['a record of a writer with a strange name', cancelBy('../x', 0)],
  ['a record without a number', cancelBy('00000001', '0')],
  ['a line without end', 'x'.repeat(600_000)]
])('%s is reported with its line', async (_, text) => {
  change((lines) => [...lines.slice(0, 4), text, ...lines.slice(4)]);
  expect((await verify()).faults).toEqual([
    { file: 'iac.jsonl', line: 5, problem: 'is not a record' }
  ]);
});

test('a forged record that looks torn is a fault', async () => {
  const { heads } = await verify();
  const [{ writer, n, hash } = { writer: '', n: 0, hash: '' }] = heads;
  // Views accept the record, because the last of two duplicate keys wins.
  const forged = `{"writer":"${writer}","n":${n + 1},"prev":"${hash}","at":"2026-01-01T00:00:00.000Z","type":"finished","agent_id":"${agentId(1)}","n":"7"}`;
  change((lines) => [...lines, forged, '']);
  expect(await firstFault()).toMatchObject({ line: 18 });
});

test('no single changed byte of a record goes unnoticed', async () => {
  const text = readFileSync(log.path);
  await fc.assert(
    fc.asyncProperty(
      fc.nat(text.length - 1),
      fc.integer({ min: 1, max: 255 }),
      async (at, difference) => {
        const changed = Buffer.from(text);
        const before = changed[at] ?? 0;
        changed[at] = before ^ difference;
        // A change of a newline may only add or remove an empty line.
        if (before === 10 || changed[at] === 10) return;
        writeFileSync(log.path, changed);
        expect((await verify()).faults).not.toEqual([]);
      }
    ),
    { numRuns: 400 }
  );
});
