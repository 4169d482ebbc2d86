import { appendFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, expect, onTestFinished, test } from 'vitest';
import { createTempWorkspace } from '../../../../test/kit/workspaces/temp-workspace.ts';
import { type Numbered, SeqLog } from './seq-log.ts';

let path: string;

beforeEach(() => {
  const workspace = createTempWorkspace();
  onTestFinished(workspace.remove);
  path = join(workspace.path, 'log.jsonl');
});

function parse(value: unknown): Numbered | undefined {
  const { seq }: Partial<Numbered> = { ...Object(value) };
  return typeof seq === 'number' ? { seq } : undefined;
}

function lineOf(seq: number): string {
  return JSON.stringify({ seq, pad: 'x'.repeat(80) });
}

test('an entry is found at a cost that hardly grows with the log', () => {
  let parsed = 0;
  const log = new SeqLog(path, (value) => {
    parsed += 1;
    return parse(value);
  });
  const costsOf = (lines: number) => {
    const numbers = Array.from({ length: lines }, (_, index) => index + 1);
    writeFileSync(path, `${numbers.map((seq) => lineOf(seq)).join('\n')}\n`);
    return [0, lines / 3, lines / 2, lines - 10, lines, 2 * lines].map(
      (seq) => {
        parsed = 0;
        const room = { entries: 10, chars: 1e6 };
        const { entries } = log.since(seq, room);
        expect(entries[0]?.seq).toBe(
          seq < lines ? Math.floor(seq) + 1 : undefined
        );
        return parsed;
      }
    );
  };
  const [few, many] = [costsOf(2000), costsOf(200_000)];
  expect(Math.max(...many)).toBeLessThan(Math.max(...few) + 50);
  parsed = 0;
  expect(log.lastSeq()).toBe(200_000);
  expect(parsed).toBeLessThan(1000);
});

test('a line above the limit is skipped without parsing', () => {
  const megabyte = 1024 * 1024;
  writeFileSync(path, `${lineOf(1)}\n`);
  appendFileSync(path, `${'x'.repeat(40 * megabyte)}\n${lineOf(2)}\n`);
  const found: (number | undefined)[] = [];
  const { arrayBuffers: before } = process.memoryUsage();
  let held = 0;
  new SeqLog(path, parse).read(0, (entry) => {
    found.push(entry?.seq);
    held = Math.max(held, process.memoryUsage().arrayBuffers - before);
    return true;
  });
  expect(found).toEqual([1, undefined, 2]);
  expect(held).toBeLessThan(10 * megabyte);
});
