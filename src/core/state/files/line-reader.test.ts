import { appendFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterEach, beforeEach, expect, test } from 'vitest';
import {
  createTempWorkspace,
  type TempWorkspace
} from '../../../../test/kit/workspaces/temp-workspace.ts';
import { LineReader } from './line-reader.ts';

let workspace: TempWorkspace;
let path: string;

beforeEach(() => {
  workspace = createTempWorkspace();
  path = join(workspace.path, 'lines');
});

afterEach(() => workspace.remove());

async function linesOf(reader: LineReader, final = false): Promise<string[]> {
  const lines: string[] = [];
  await reader.read((line) => lines.push(line), final);
  return lines;
}

test('a missing file has no lines', async () => {
  const reader = new LineReader(path, 100);
  expect(await linesOf(reader, true)).toEqual([]);
  writeFileSync(path, 'now\n');
  expect(await linesOf(reader)).toEqual(['now']);
});

test('a line is passed on when it is complete, with the offset of its end', async () => {
  const reader = new LineReader(path, 100);
  const seen: [string, number][] = [];
  const read = (final = false) =>
    reader.read((line, end) => seen.push([line, end]), final);
  for (const part of ['a', 'b\n\nc', '\nlast']) {
    appendFileSync(path, part);
    await read();
  }
  expect(seen).toEqual([
    ['ab', 3],
    ['c', 6]
  ]);
  await read(true);
  expect(seen.at(-1)).toEqual(['last', 10]);
  await read(true);
  expect(seen).toHaveLength(3);
});

test('the lines are the same, however a file grows', async () => {
  const line = fc.oneof(
    fc.string({ unit: 'binary' }).map((text) => text.replaceAll('\n', '')),
    fc.constantFrom('', 'é한😀\u0000', '\r', 'x'.repeat(300))
  );
  await fc.assert(
    fc.asyncProperty(
      fc.array(line, { maxLength: 12 }),
      fc.array(fc.nat(80), { maxLength: 12 }),
      async (lines, cuts) => {
        const bytes = Buffer.from(lines.join('\n'));
        const reader = new LineReader(path, 1000);
        writeFileSync(path, '');
        const seen: string[] = [];
        let at = 0;
        for (const cut of [...cuts, bytes.length]) {
          appendFileSync(path, bytes.subarray(at, at + cut));
          at += cut;
          seen.push(...(await linesOf(reader)));
        }
        seen.push(...(await linesOf(reader, true)));
        const whole = bytes.toString('utf8').split('\n').filter(Boolean);
        expect(seen).toEqual(whole);
      }
    ),
    { numRuns: 150 }
  );
});

test('a character is never split, not even between two blocks', async () => {
  const long = `${'x'.repeat(256 * 1024 - 1)}😀${'한'.repeat(200_000)}`;
  writeFileSync(path, `${long}\nshort\n`);
  const lines = await linesOf(new LineReader(path, 2_000_000));
  expect(lines).toEqual([long, 'short']);
});

test('lines that lie across blocks of a long file are whole, with their offsets', async () => {
  const lines = Array.from({ length: 20_000 }, (_, n) => `${n} `.repeat(n % 9));
  writeFileSync(path, lines.map((line) => `${line}\n`).join(''));
  const seen: string[] = [];
  let offset = 0;
  await new LineReader(path, 1000, 0, true).read((line, end) => {
    offset += Buffer.byteLength(line) + 1;
    expect(end).toBe(offset);
    seen.push(line);
  });
  expect(seen).toEqual(lines);
});

test('other work gets its turn every half megabyte of a long file', async () => {
  writeFileSync(path, `${'x'.repeat(99)}\n`.repeat(40_000));
  const turns = new Set<number>();
  let turn = 0;
  let isDone = false;
  const count = (): void => {
    turn += 1;
    if (!isDone) setImmediate(count);
  };
  count();
  await new LineReader(path, 1000).read(() => turns.add(turn));
  isDone = true;
  expect(turns.size).toBeGreaterThanOrEqual(6);
});

test('bytes that are not UTF-8 become U+FFFD and affect no other line', async () => {
  writeFileSync(
    path,
    Buffer.concat([
      Buffer.from('before\n'),
      Buffer.from([0xff, 0xfe, 0x61, 0xc3, 10, 0xe2, 0x82, 10]),
      Buffer.from('after\n')
    ])
  );
  const lines = await linesOf(new LineReader(path, 100));
  expect(lines).toEqual(['before', '��a�', '�', 'after']);
});

test.each([1, 7, 1000])(
  'a line above the limit is skipped, when it is written in steps of %i bytes',
  async (step) => {
    const reader = new LineReader(path, 10);
    const bytes = Buffer.from(
      `exactly-10\n${'é'.repeat(700)}\nnext\n${'y'.repeat(11)}\nlast`
    );
    const seen: string[] = [];
    writeFileSync(path, '');
    for (let at = 0; at < bytes.length; at += step) {
      appendFileSync(path, bytes.subarray(at, at + step));
      seen.push(...(await linesOf(reader)));
    }
    seen.push(...(await linesOf(reader, true)));
    expect(seen).toEqual(['exactly-10', 'next', 'last']);
  }
);

test('an unfinished line above the limit is skipped at the end too', async () => {
  writeFileSync(path, `ok\n${'x'.repeat(50)}`);
  expect(await linesOf(new LineReader(path, 10), true)).toEqual(['ok']);
});

test('with everyLine, empty and long lines are passed on too', async () => {
  writeFileSync(path, `\none\n\n${'x'.repeat(50)}\nend\n`);
  const reader = new LineReader(path, 10, 0, true);
  expect(await linesOf(reader, true)).toEqual([
    '',
    'one',
    '',
    'x'.repeat(10),
    'end'
  ]);
});

test('reading can start inside a file', async () => {
  writeFileSync(path, 'one\ntwo\nthree\n');
  const reader = new LineReader(path, 100, 4);
  expect(await linesOf(reader)).toEqual(['two', 'three']);
  expect(reader.offset).toBe(14);
});

test('a line that grows in small steps takes no more memory than its bytes', async () => {
  const reader = new LineReader(path, 10_000_000);
  writeFileSync(path, '');
  const before = process.memoryUsage().arrayBuffers;
  for (let step = 0; step < 1000; step += 1) {
    appendFileSync(path, 'x');
    await reader.read(() => undefined);
  }
  globalThis.gc?.();
  const grown = process.memoryUsage().arrayBuffers - before;
  expect(grown).toBeLessThan(100 * 1024 * 1024);
});
