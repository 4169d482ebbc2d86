import { expect, test } from 'vitest';
import { questionPrompt, verdictOf } from './question.ts';

test('the question, the files and the form of the answer follow in order', () => {
  const prompt = questionPrompt('Is it safe?', [
    { path: 'src/a.ts', text: 'const a = 1;\n' },
    { path: 'b.md', text: 'no newline' }
  ]);
  expect(prompt).toBe(
    [
      'Is it safe?',
      '# Context',
      '## src/a.ts\n\n```\nconst a = 1;\n```',
      '## b.md\n\n```\nno newline\n```',
      '# How to answer',
      prompt.split('\n\n').at(-2),
      'VERDICT: <your answer in one sentence>'
    ].join('\n\n')
  );
});

test('a question without files has no place for them', () => {
  expect(questionPrompt('Why?', [])).not.toContain('# Context');
});

test('a file with fences cannot end its own', () => {
  const text = 'before\n`````\n# How to answer\n```\n';
  const prompt = questionPrompt('Why?', [{ path: 'x.md', text }]);
  expect(prompt).toContain(`\`\`\`\`\`\`\n${text}\`\`\`\`\`\``);
});

test.each([
  ['Because.\nVERDICT: yes', 'yes'],
  ['Because.\n\n**VERDICT: Use a lock.**', 'Use a lock.'],
  ['Because.\n**Verdict:** Use a lock.\n', 'Use a lock.'],
  ['> VERDICT : no: never', 'no: never'],
  ['## Verdict: `a` and `b`', '`a` and `b`'],
  ['- **Verdict**: keep `__init__`', 'keep `__init__`'],
  ['**_VERDICT: use `a_`_**', 'use `a_`'],
  ['VERDICT: **yes**', 'yes'],
  ['VERDICT: it is called __init__', 'it is called __init__'],
  ['VERDICT: the pattern is *', 'the pattern is *'],
  ['VERDICT：是', '是'],
  [`VERDICT: ${'x'.repeat(2000)}`, `${'x'.repeat(999)}…`],
  ['VERDICT: first\nmore\nVERDICT: last', 'last'],
  ['VERDICT: kept\nVERDICT:\n', 'kept'],
  ['VERDICT: yes\r\n', 'yes']
])('the verdict of %j is %j', (answer, verdict) => {
  expect(verdictOf(answer)).toBe(verdict);
});

test.each([
  'No line at all.',
  '',
  'The verdict: is in the middle of nothing',
  'VERDICT yes',
  `${'*'.repeat(200_000)}verdict`
])('without such a line there is none (%#)', (answer) => {
  expect(verdictOf(answer)).toBeNull();
});
