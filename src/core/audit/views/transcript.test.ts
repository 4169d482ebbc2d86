import { expect, test } from 'vitest';
import type { Turn } from '../../../plugin/plugin.ts';
import { createRedactor } from '../redaction/redact.ts';
import { transcriptOf } from './transcript.ts';

const secret = 'correct-horse-battery-7';
const redact = createRedactor([secret]);

function textOf(turns: Turn[], answer?: string, more = false): string {
  const numbered = turns.map((turn, seq) => ({ ...turn, seq }));
  return transcriptOf({ turns: numbered, more }, redact, answer).text;
}

test('steps stand one below the other, with texts of several lines indented', () => {
  expect(
    textOf([
      { kind: 'thinking', text: 'Hm.' },
      { kind: 'text', text: 'I look:\n\n- there' },
      { kind: 'tool', id: '1', name: 'Bash', input: 'npm test' },
      { kind: 'result', id: '1', text: 'not ok\n', isError: true },
      { kind: 'result', text: '' },
      { kind: 'notice', text: 'retry 1/2', within: '1' }
    ])
  ).toBe(
    [
      ...['thinks: Hm.', '', 'says:', '  I look:', '', '  - there', ''],
      ...['calls Bash: npm test', '', 'failed: not ok', '', 'result', ''],
      '  (nested) notice: retry 1/2'
    ].join('\n')
  );
});

test('an edit has its diff, or the lines before and after', () => {
  expect(
    textOf([
      { kind: 'edit', path: 'a.ts', diff: '@@ -1 +1 @@\n-x\n+y\n' },
      { kind: 'edit', path: 'b.ts', before: 'x\n', after: 'y\nz\n' },
      { kind: 'edit', path: 'c\n.ts', change: 'deleted' }
    ])
  ).toBe(
    [
      ...['edits a.ts', '  @@ -1 +1 @@', '  -x', '  +y', ''],
      ...['edits b.ts', '  -x', '  +y', '  +z', '', 'edits c .ts (deleted)']
    ].join('\n')
  );
});

test('a long text is cut with its length, and no secret is left at the cut', () => {
  for (const at of [0, 1980, 1990, 1999]) {
    const said = `${'x'.repeat(at)}${secret}${'y'.repeat(5000)}`;
    const text = textOf([{ kind: 'text', text: said }]);
    expect(text).toMatch(/… \d+ characters left out …$/);
    for (const part of [secret, secret.slice(0, 6), secret.slice(-6)])
      expect(text).not.toContain(part);
  }
});

test('no text of a step keeps a secret or a control character', () => {
  const bad = `${secret}\u001b[2J`;
  const text = textOf([
    { kind: 'text', text: bad },
    { kind: 'tool', name: bad, input: bad },
    { kind: 'result', text: bad },
    { kind: 'edit', path: bad, before: bad, after: bad },
    { kind: 'edit', path: bad, diff: bad },
    { kind: 'notice', text: bad }
  ]);
  expect(text).not.toContain(secret);
  expect(text).not.toContain('\u001b');
});

test('a last text that is the answer is not repeated', () => {
  const turns: Turn[] = [
    { kind: 'text', text: 'There are 42.' },
    { kind: 'text', text: 'There are 42.\n' }
  ];
  expect(textOf(turns, 'There are 42.')).toBe(
    'says: There are 42.\n\nsays the answer'
  );
});

test('the title says that earlier steps are left out', () => {
  const page = { turns: [{ kind: 'text', text: 'x', seq: 0 } as const] };
  const { title, text } = transcriptOf(
    { ...page, more: true },
    redact,
    undefined
  );
  expect(title).toBe('Transcript (the last 1 step)');
  expect(text).toMatch(/^… earlier steps are left out …\n\n/);
});
