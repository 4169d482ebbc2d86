import { describe, expect, test } from 'vitest';
import type { Turn } from '../../plugin/plugin.ts';
import { turnList } from './turn-list.ts';

/** The rows of a list: their class and what is in them. */
function rowsOf(turns: Turn[], answer = ''): [kind: string, body: string][] {
  const numbered = turns.map((turn, n) => ({ ...turn, seq: n }));
  const text = turnList(numbered, answer).toString();
  return text
    .split('<li class="turn ')
    .slice(1)
    .map((row) => {
      const [, kind = '', body = ''] = /^([^"]*)">(.*?)<\/li>/s.exec(row) ?? [];
      return [kind, body];
    });
}

const bodyOf = (turn: Turn) => rowsOf([turn])[0]?.[1] ?? '';

const call: Turn = { kind: 'tool', id: 'c1', name: 'Edit', input: 'a.txt' };
const edit: Turn = {
  ...{ kind: 'edit', id: 'c1', path: 'a.txt' },
  ...{ before: 'old\n', after: 'new\n' }
};
const result: Turn = { kind: 'result', id: 'c1', text: 'done' };

describe('a call', () => {
  test('has its edits below it, which say more than the result', () => {
    const rows = rowsOf([call, edit, result]);
    expect(rows.map(([kind]) => kind)).toEqual(['call']);
    const [, body] = rows[0] ?? [];
    expect(body).toContain('<span class="kind">edits</span>');
    expect(body).toContain('<b>Edit</b> <code>a.txt</code>');
    expect(body).toContain('>old<');
    expect(body).not.toContain('done');
  });

  test('has its result when it has edited nothing, and also after an error', () => {
    const [, plain] = rowsOf([call, result])[0] ?? [];
    expect(plain).toContain('<span class="kind">calls</span>');
    expect(plain).toContain('<summary>result, 1 line</summary><pre>done</pre>');
    const failed: Turn = { ...result, isError: true };
    const [, body] = rowsOf([call, edit, failed])[0] ?? [];
    expect(body).toContain('<span class="kind">calls</span>');
    expect(body).toContain('<details class="failed" open>');
    expect(body).not.toContain('>old<');
  });

  test('has one result; another one, and those without a call, are rows', () => {
    const turns: Turn[] = [
      call,
      result,
      { ...result, text: 'again' },
      { kind: 'result', text: 'alone' },
      { kind: 'edit', id: 'c2', path: 'b.txt' },
      { kind: 'tool', name: 'Read', input: 'x' }
    ];
    expect(rowsOf(turns).map(([kind]) => kind)).toEqual([
      ...['call', 'result', 'result', 'edit', 'call']
    ]);
  });
});

describe('a text', () => {
  test('that is the answer is not repeated, if it is the last one', () => {
    const said: Turn = { kind: 'text', text: ' Fine.\n' };
    const turns: Turn[] = [said, { kind: 'thinking', text: 'Fine.' }, said];
    const bodies = rowsOf(turns, 'Fine.').map(([, body]) =>
      body.includes('href="#answer"')
    );
    expect(bodies).toEqual([false, false, true]);
    expect(rowsOf([said], 'Other.')[0]?.[1]).toContain('Fine.');
  });

  test('that is too long is cut', () => {
    const cut = (length: number) =>
      bodyOf({ kind: 'text', text: 'x'.repeat(length) });
    expect(cut(20_000)).not.toContain('left out');
    expect(cut(20_001)).toContain('… 1 more characters are left out.');
  });

  test('of a nested agent is marked', () => {
    const nested: Turn = { kind: 'notice', text: 'x', within: 'c1' };
    expect(rowsOf([nested, { kind: 'notice', text: 'y' }])).toEqual([
      ['notice nested', expect.stringContaining('<p class="words">x</p>')],
      ['notice', expect.stringContaining('<p class="words">y</p>')]
    ]);
  });
});

describe('a result', () => {
  const resultOf = (text: string, isError?: true) =>
    bodyOf({ kind: 'result', text, ...(isError ? { isError } : {}) });

  test('without a text says whether it failed', () => {
    expect(resultOf(' \n')).toContain('<p class="quiet">no output</p>');
    expect(resultOf('', true)).toContain('<p class="failed">failed</p>');
  });

  test.each([
    ['x'.repeat(600), true],
    ['x'.repeat(601), false],
    ['x\n'.repeat(8), true],
    ['x\n'.repeat(9), false]
  ])('is open unless it is long (%#)', (text, isOpen) => {
    expect(resultOf(text).includes('<details class="folded" open>')).toBe(
      isOpen
    );
  });

  test('counts its lines', () => {
    expect(resultOf('a\nb\n\n')).toContain('<summary>result, 2 lines<');
    expect(resultOf('a', true)).toContain('<summary>failed, 1 line<');
    expect(bodyOf({ kind: 'thinking', text: 'hm' })).toContain(
      '<summary>thoughts, 1 line<'
    );
  });
});

describe('an edit', () => {
  const editOf = (more: object) =>
    bodyOf({ kind: 'edit', path: 'a.txt', ...more });

  test('without lines has its path and its kind', () => {
    expect(editOf({})).toContain('<p><span class="path">a.txt</span></p>');
    expect(editOf({ change: 'added' })).toContain('<span class="tag">added<');
    expect(editOf({ change: 'changed' })).not.toContain('tag');
    expect(editOf({ before: '', after: '' })).not.toContain('<details');
  });

  test('has the lines before and after, counted', () => {
    const body = editOf({ before: 'a\nb\n', after: 'c' });
    expect(body).toContain('+1');
    expect(body).toContain('−2');
    expect(body).toContain('<details open>');
  });

  test('is closed when it has more than eight lines', () => {
    expect(editOf({ after: 'x\n'.repeat(8) })).toContain('<details open>');
    expect(editOf({ after: 'x\n'.repeat(9) })).toContain('<details>');
  });

  test('has the lines of its diff, if there is one', () => {
    const diff = '--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-x\n+y\n';
    const body = editOf({ diff, before: 'no', after: 'no' });
    expect(body).toContain('>y<');
    expect(body).not.toContain('>no<');
  });
});
