import fc from 'fast-check';
import { expect, test } from 'vitest';
import { fill } from './prompts.ts';

const body = 'Do this:\n\n{{task}}\n\n- Engine: {{engine}}\n\nThen report.';

function filled(task: string, engine?: string, note?: string): string {
  return fill(
    body,
    new Map([
      ['task', { text: task, fallback: 'nothing' }],
      ['engine', { text: engine, fallback: 'any', note }]
    ])
  );
}

test('a value on its own line becomes a code block, any other one a code span', () => {
  expect(filled('Fix it.', 'codex')).toBe(
    'Do this:\n\n```text\nFix it.\n```\n\n- Engine: `codex`\n\nThen report.'
  );
});

test('a missing value is replaced by the default text', () => {
  expect(filled('Fix it.')).toContain('- Engine: any\n');
});

test('a note follows a code span, or stands below a code block', () => {
  expect(filled('Fix it.', 'x', '(unknown)')).toContain('`x` (unknown)\n');
  const value = { text: 'a', fallback: '', note: 'More.' };
  expect(fill('{{task}}', new Map([['task', value]]))).toBe(
    '```text\na\n```\n\nMore.'
  );
});

test.each([
  ['a placeholder', '{{engine}}'],
  ['a replacement pattern', "$1 $& $' $`"],
  ['a fence', '```\n```\n````'],
  ['a fence of tildes', '~~~']
])('%s in a value stays literal', (_, value) => {
  const text = filled(value, 'codex');
  const [, fence = '', shown] =
    /\n(`{3,})text\n([\s\S]*?)\n\1\n\n- Engine: `codex`/.exec(text) ?? [];
  expect(shown).toBe(value);
  expect(value).not.toContain(fence);
});

test('control and direction characters are removed', () => {
  expect(filled('a\0\u001b[31mb\u202ec', 'x\ny')).toBe(
    'Do this:\n\n```text\na[31mbc\n```\n\n- Engine: `x y`\n\nThen report.'
  );
});

test('a value may contain any number of backticks', () => {
  const task = '`a'.repeat(200_000);
  expect(filled(task, 'x')).toContain(`\`\`\`text\n${task}\n\`\`\`\n`);
});

test('no value breaks out of its placeholder', () => {
  const wild = fc.string({
    unit: fc.constantFrom('`', '~', '\n', ' ', '{', '}', '-', 'task', '$1', '#')
  });
  fc.assert(
    fc.property(wild, wild, (task, engine) => {
      const lines = filled(task, engine).split('\n');
      const fence = lines[2]?.replace('text', '') ?? '';
      const end = lines.indexOf(fence, 3);
      expect(lines.slice(3, end).join('\n')).toBe(task);
      const [, item = '', ...rest] = lines.slice(end + 1);
      expect(rest).toEqual(['', 'Then report.']);
      const [, marks = '', value = ''] =
        /^- Engine: (`+)(.*?)\1$/.exec(item) ?? [];
      expect(value.trim()).toBe(engine.replace(/\s+/g, ' ').trim());
      expect(value.match(/`+/g) ?? []).not.toContain(marks);
    })
  );
});
