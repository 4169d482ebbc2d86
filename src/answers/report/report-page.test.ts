import { createHash } from 'node:crypto';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { hostileText } from '../../../test/kit/judges/hostile-text.ts';
import { tagsIn } from '../../../test/kit/judges/markup.ts';
import type { NumberedTurn } from '../../core/runs/turns/turn-page.ts';
import type { DiffFile } from '../unified-diff.ts';
import type { ReportData } from './report-data.ts';
import { reportPage } from './report-page.ts';

function dataWith(some: Partial<ReportData> = {}): ReportData {
  return {
    id: '1a2b3c4d',
    task: 'count the files',
    status: 'completed',
    summary: ['Claude (haiku)'],
    facts: { Cost: 'unknown', Branch: undefined },
    prompt: textOf('count the files\nof this folder'),
    answer: textOf('There are 42.'),
    error: undefined,
    denials: [],
    turns: undefined,
    diff: undefined,
    changesNote: undefined,
    relatives: [],
    entries: [],
    footer: 'Written by a test.',
    ...some
  };
}

const textOf = (head: string, tail = '', charsLeftOut = 0) => ({
  ...{ head, tail, charsLeftOut }
});

const numbered = (...turns: object[]) => ({
  turns: turns.map((turn, seq) => ({ ...turn, seq }) as NumberedTurn),
  more: false
});

/** The words of a page, one line for each element. */
function wordsOf(page: string): string {
  return page
    .replace(/<style>.*?<\/style>/s, '')
    .replace(/<[^>]*>/g, '\n')
    .replace(/&#(\d+);/g, (_, code) => String.fromCharCode(Number(code)))
    .replace(/\n\s*/g, '\n');
}

test('a page needs nothing else: its policy allows its own style alone', () => {
  const page = reportPage(dataWith());
  const style = /<style>(.*?)<\/style>/s.exec(page)?.[1] ?? '';
  const hash = createHash('sha256').update(style).digest('base64');
  expect(page).toContain(
    `content="default-src &#39;none&#39;; style-src &#39;sha256-${hash}&#39;; base-uri`
  );
  expect(page.match(/<(script|link|img|iframe|form|base)\b/g)).toBeNull();
  expect(page.match(/(https?:)?\/\/\w|url\(|@import| style=| on\w+=/g)).toBe(
    null
  );
  expect(style).toContain('prefers-color-scheme: dark');
  expect(style).toContain('overflow-wrap: anywhere');
});

test('its outline is one title, and a heading for each part in order', () => {
  const page = reportPage(
    dataWith({
      error: { message: 'It fell.', code: 'network', hint: 'Look.' },
      turns: numbered({ kind: 'notice', text: 'retry' }),
      changesNote: 'Not compared.',
      relatives: [
        { id: '5e6f7a8b', relation: 'Continues', task: 'x', status: undefined }
      ],
      entries: [{ at: '2026-11-26T10:32:05.000Z', event: 'spawned', text: 'x' }]
    })
  );
  const headings = [...page.matchAll(/<h(\d)[^>]*>([^<]*)</g)].map(
    ([, level, text]) => `${level} ${text}`
  );
  expect(headings).toEqual([
    '1 count the files',
    ...['What went wrong', 'Facts', 'Prompt', 'Answer', 'Transcript'].map(
      (title) => `2 ${title}`
    ),
    ...['Changes (0 files)', 'Lineage', 'Audit log'].map(
      (title) => `2 ${title}`
    )
  ]);
  expect(wordsOf(page)).toContain('\ncleaned away\n');
  expect(wordsOf(page)).toContain('\n2026-11-26 10:32:05\n');
});

test('what an agent was refused is a part of its own, also without an error', () => {
  const partOf = (denials: string[]) =>
    wordsOf(reportPage(dataWith({ denials })));
  expect(partOf([])).not.toContain('refused');
  const words = partOf(['Bash(rm)']);
  expect(words).toContain('\nWhat it was refused\n');
  expect(words).toContain('\nBash(rm)\n');
  expect(words).not.toContain('What went wrong');
});

test('every text stays text, whatever it holds', () => {
  const kinds = ['text', 'thinking', 'notice', 'result'];
  fc.assert(
    fc.property(
      hostileText,
      fc.constantFrom('</pre>', '"><script>', '</style>', '<!--', ']]>', '`'),
      (words, tag) => {
        const text = `${tag}${words}${tag}`;
        const page = reportPage(
          dataWith({
            ...{ task: text, summary: [text], facts: { [text]: text } },
            ...{ prompt: textOf(text), answer: textOf(text, text, 5) },
            error: { message: text, code: text, hint: text },
            denials: [text],
            turns: numbered(
              ...kinds.map((kind) => ({ kind, text, id: text })),
              { kind: 'tool', id: '1', name: text, input: text },
              { kind: 'edit', id: '1', path: text, after: text, before: text },
              { kind: 'edit', path: text, diff: `@@ -1 +1 @@\n+${text}` }
            ),
            diff: {
              filesLeftOut: 1,
              files: [
                {
                  ...{ path: text, oldPath: text, change: 'renamed' },
                  ...{ isBinary: false, added: 1, removed: 1, linesLeftOut: 9 },
                  hunks: [
                    { header: text, lines: [{ kind: 'added', text, new: 1 }] }
                  ]
                }
              ]
            },
            relatives: [{ id: text, relation: text, task: text, status: text }],
            entries: [{ at: text, event: text, text }],
            ...{ footer: text, changesNote: text }
          })
        );
        expect(tagsIn(page).strange).toEqual([]);
      }
    ),
    { numRuns: 60 }
  );
});

test('the result and the edits of a call stand below it, also of parallel calls', () => {
  const page = reportPage(
    dataWith({
      turns: numbered(
        { kind: 'tool', id: 'a', name: 'First', input: 'x' },
        { kind: 'tool', id: 'b', name: 'Second', input: 'y' },
        { kind: 'result', id: 'b', text: 'of the second' },
        { kind: 'result', id: 'a', text: 'of the first', isError: true },
        { kind: 'edit', id: 'b', path: 'b.txt', diff: '@@ -1 +1 @@\n-x\n+y' }
      )
    })
  );
  const words = wordsOf(page);
  const order = ['First', 'of the first', 'Second', 'b.txt'];
  const places = order.map((word) => words.indexOf(word));
  expect(places).toEqual([...places].sort((a, b) => a - b));
  expect(places).not.toContain(-1);
  expect(words).toContain('failed, 1 line');
  // The edit says more than the result.
  expect(words).not.toContain('of the second');
});

test('an edit of a failed call is not shown as made', () => {
  const page = reportPage(
    dataWith({
      turns: numbered(
        { kind: 'tool', id: 'a', name: 'write', input: 'out.txt' },
        { kind: 'edit', id: 'a', path: 'out.txt', after: 'secret plan' },
        { kind: 'result', id: 'a', text: 'Not allowed.', isError: true }
      )
    })
  );
  expect(wordsOf(page)).toContain('Not allowed.');
  expect(wordsOf(page)).not.toContain('secret plan');
});

test('a last text that is the answer is a link to it', () => {
  const says = (text: string) => ({ kind: 'text', text });
  const turns = numbered(says('First.'), says('There are 42.\n'));
  const words = wordsOf(reportPage(dataWith({ turns })));
  expect(words).toContain('\nFirst.\n');
  expect(words.split('There are 42.')).toHaveLength(2);
});

test('long results, thoughts and diffs are closed at first, short ones open', () => {
  const result = (lines: number) => ({
    kind: 'result',
    text: 'line\n'.repeat(lines)
  });
  const page = reportPage(dataWith({ turns: numbered(result(3), result(30)) }));
  expect(page).toMatch(/<details class="folded" open>.*?3 lines/);
  expect(page).toMatch(/<details class="folded"><summary>result, 30 lines/);
});

test('what was cut says how much is missing', () => {
  const words = wordsOf(
    reportPage(
      dataWith({
        answer: textOf('the start', 'the end', 123_456),
        turns: {
          ...numbered({ kind: 'text', text: 'x'.repeat(30_000) }),
          more: true
        }
      })
    )
  );
  expect(words).toContain('123456 characters are left out here.');
  expect(words).toContain('10000 more characters are left out.');
  expect(words).toContain('Earlier steps are left out.');
});

test('fences, headings, code and bold words of an answer are shown as such', () => {
  const answer = textOf(
    '\n# Title\n\nSome `a < b` and **bold**.\n```js\nif (a < b) {\n```\n~~~\nopen'
  );
  const page = reportPage(dataWith({ answer }));
  expect(page).toContain('<strong class="head">Title</strong>Some <code>');
  expect(page).toContain('<code>a &#60; b</code> and <b>bold</b>.');
  expect(page).toContain('<pre>if (a &#60; b) {</pre><pre>open</pre>');
});

test('a diff says how many of its lines are left out, if any are', () => {
  const leftOut = (linesLeftOut: number) => {
    const file: DiffFile = {
      ...{ path: 'a.txt', change: 'changed', isBinary: false },
      ...{ added: 1, removed: 0, linesLeftOut },
      hunks: [{ header: '@@', lines: [{ kind: 'added', text: 'x', new: 1 }] }]
    };
    const diff = { filesLeftOut: 0, files: [file] };
    const words = wordsOf(reportPage(dataWith({ diff })));
    return words.match(/\d+ more lines are left out/g);
  };
  expect(leftOut(9)).toEqual(['9 more lines are left out']);
  expect(leftOut(0)).toBeNull();
});

test('a prompt that the title repeats is not shown twice', () => {
  const short = reportPage(dataWith({ prompt: textOf('count the files') }));
  expect(short).not.toContain('id="prompt"');
  const long = reportPage(dataWith({ prompt: textOf('x'.repeat(5000)) }));
  expect(long).toContain('<summary>5000 characters</summary>');
});

test('an agent at work has no answer yet, and one without a file none any more', () => {
  const page = (status: string, answer = dataWith().answer) =>
    wordsOf(reportPage({ ...dataWith({ status }), answer }));
  expect(
    wordsOf(
      reportPage({ ...dataWith({ status: 'running' }), answer: undefined })
    )
  ).toContain('The agent is running.');
  expect(wordsOf(reportPage({ ...dataWith(), answer: undefined }))).toContain(
    'Not kept.'
  );
  expect(page('completed', textOf(' \n'))).toContain('It said nothing.');
});

test('a changed file is marked as binary if it is', () => {
  const fileWith = (path: string, isBinary: boolean): DiffFile => ({
    ...{ path, isBinary, change: 'added', added: 0, removed: 0 },
    ...{ hunks: [], linesLeftOut: 0 }
  });
  const files = [fileWith('a.txt', false), fileWith('b.bin', true)];
  const page = reportPage(dataWith({ diff: { files, filesLeftOut: 0 } }));
  expect(wordsOf(page)).toContain('\na.txt\nadded\nb.bin\nadded\nbinary\n');
});
