import { appendFileSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeEach, expect, test } from 'vitest';
import geminiCli from '../../../../plugins/gemini-cli.ts';
import { createTempWorkspace } from '../../../../test/kit/workspaces/temp-workspace.ts';
import type { Turn } from '../../../plugin/plugin.ts';
import { type TurnRange, turnsOf, turnsReaderOf } from './turn-page.ts';

const workspace = createTempWorkspace();
let directory: string;
let count = 0;

beforeEach(() => {
  count += 1;
  directory = join(workspace.path, `agent-${count}`);
  mkdirSync(directory);
});

afterAll(() => workspace.remove());

/** Each line of the output is a list of turns. */
const asListed = (event: unknown) => event as Turn[];

const say = (text: string): Turn => ({ kind: 'text', text });
const piece = (text: string): Turn => ({ kind: 'text', text, isPiece: true });

function output(...lines: (Turn[] | string)[]): void {
  const text = lines.map((line) =>
    typeof line === 'string' ? line : JSON.stringify(line)
  );
  writeFileSync(join(directory, 'stdout'), `${text.join('\n')}\n`);
}

const page = (range: TurnRange) => turnsOf(directory, asListed, range);

async function wordsOf(range: TurnRange) {
  const { turns, more } = await page(range);
  return [...turns.map((turn) => ('text' in turn ? turn.text : '')), more];
}

test('pages from the newest to the oldest hold each turn once, in order', async () => {
  const texts = [...Array(97).keys()].map((number) => `turn ${number}`);
  // Lines of zero to three turns.
  const lines: Turn[][] = [];
  for (let at = 0, size = 0; at < texts.length; at += size) {
    size = lines.length % 4;
    lines.push(texts.slice(at, at + size).map(say));
  }
  output(...lines);
  for (const limit of [1, 2, 7, 1000]) {
    const seen: string[] = [];
    const numbers: number[] = [];
    let before: number | undefined;
    for (let more = true; more; ) {
      const found = await page({ before, limit });
      expect(found.turns.length).toBeLessThanOrEqual(limit);
      seen.unshift(...found.turns.map((t) => ('text' in t ? t.text : '')));
      numbers.unshift(...found.turns.map(({ seq }) => seq));
      before = found.turns[0]?.seq;
      more = found.more;
    }
    expect(seen).toEqual(texts);
    expect(numbers).toEqual([...new Set(numbers)].sort((a, b) => a - b));
  }
});

test('streamed pieces are one turn, whose number stays while it grows', async () => {
  output([say('one')], [piece('a'), piece('b')], [], [piece('c')]);
  expect(await wordsOf({ limit: 5 })).toEqual(['one', 'abc', false]);
  const first = await page({ limit: 1 });
  appendFileSync(
    join(directory, 'stdout'),
    `${JSON.stringify([piece('d'), say('two')])}\n`
  );
  expect(await wordsOf({ limit: 5 })).toEqual(['one', 'abcd', 'two', false]);
  const seq = first.turns[0]?.seq;
  expect((await page({ limit: 5 })).turns[1]?.seq).toBe(seq);
  expect(await wordsOf({ from: seq, limit: 5 })).toEqual([
    ...['abcd', 'two', false]
  ]);
  expect(await wordsOf({ before: seq, limit: 5 })).toEqual(['one', false]);
});

test('pieces of a nested agent, or of another kind, are not joined', async () => {
  output([
    piece('own'),
    { ...piece('nested'), within: '1' },
    { kind: 'thinking', text: 'hm', isPiece: true },
    piece('own')
  ]);
  expect(await wordsOf({ limit: 9 })).toEqual([
    ...['own', 'nested', 'hm', 'own', false]
  ]);
});

test('lines that are no events, and events that are not read, add nothing', async () => {
  output('', 'Warning: [x]', '{"cut', '{}', '7', [say('one')], '[7');
  const read = (event: unknown) => {
    if (!Array.isArray(event)) throw new Error('an event of another version');
    return asListed(event);
  };
  const { turns } = await turnsOf(directory, read, { limit: 9 });
  expect(turns).toMatchObject([{ text: 'one' }]);
});

test('a page of huge texts ends early, and says that there are more', async () => {
  const huge = 'x'.repeat(1_500_000);
  output([say('first')], [say(huge)], [say(huge)], [say('last')]);
  const newest = await page({ limit: 50 });
  expect(newest.turns).toHaveLength(2);
  expect(newest.more).toBe(true);
  const older = await page({ before: newest.turns[0]?.seq, limit: 50 });
  expect(older.turns).toHaveLength(2);
  expect(older.more).toBe(false);
});

test('a page holds two million characters, and not one more', async () => {
  // The kind of a turn counts, too.
  const text = (chars: number) => say('x'.repeat(chars - 'text'.length));
  const sizes = async (...chars: number[]) => {
    output(...chars.map((one) => [text(one)]));
    return (await page({ limit: 50 })).turns.length;
  };
  expect(await sizes(9, 1_500_000, 500_000)).toBe(2);
  expect(await sizes(1_500_001, 500_000)).toBe(1);
});

test('a page holds so many characters of text, or one longer text', async () => {
  const thought: Turn = { kind: 'thinking', text: 'y'.repeat(900) };
  output([say('x'.repeat(300))], [say('one')], [thought], [say('two')]);
  const textCharsAtMost = 100;
  const { turns, more } = await page({ limit: 9, textCharsAtMost });
  expect(turns).toMatchObject([say('one'), thought, say('two')]);
  expect(more).toBe(true);
  const before = turns[0]?.seq;
  const last = await page({ limit: 9, textCharsAtMost, before });
  expect(last.turns).toMatchObject([say('x'.repeat(300))]);
});

test('no more of a long output is read than asked for', async () => {
  output([say('first')], 'x'.repeat(100_000), [say('last')]);
  expect(await wordsOf({ limit: 9, bytesAtMost: 50_000 })).toEqual([
    ...['last', true]
  ]);
  expect(await wordsOf({ limit: 9, bytesAtMost: 500_000 })).toEqual([
    ...['first', 'last', false]
  ]);
});

test('an output that is missing or a link has no turns', async () => {
  expect(await page({ limit: 9 })).toEqual({ turns: [], more: false });
  output([say('one')]);
  const target = join(directory, 'stdout');
  directory = join(workspace.path, 'linked');
  mkdirSync(directory);
  symlinkSync(target, join(directory, 'stdout'));
  expect(await page({ limit: 9 })).toEqual({ turns: [], more: false });
});

test('only the output of programs is read as turns', () => {
  expect(turnsReaderOf({ kind: 'cli' }, geminiCli)).toBe(geminiCli.turns);
  expect(turnsReaderOf({ kind: 'api' }, geminiCli)).toBeUndefined();
  expect(turnsReaderOf({ kind: 'cli' }, undefined)).toBeUndefined();
});
