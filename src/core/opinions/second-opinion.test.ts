import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import {
  createTempWorkspace,
  type TempWorkspace
} from '../../../test/kit/workspaces/temp-workspace.ts';
import {
  questionPrompt,
  readContextFiles,
  verdictOf
} from './second-opinion.ts';

let workspace: TempWorkspace;
const inside = (...paths: string[]) => readContextFiles(workspace.path, paths);

beforeAll(() => {
  workspace = createTempWorkspace();
  workspace.write('a.txt', 'a\n');
  workspace.write('sub/ü.txt', 'Grüße\n');
  workspace.write('api_keys.json', '{"XAI_API_KEY":"x"}');
  workspace.write('sub/API_KEYS.json', '{"XAI_API_KEY":"x"}');
  workspace.write('large.txt', 'x'.repeat(250_000));
  workspace.write('also-large.txt', 'x'.repeat(250_000));
  mkdirSync(join(workspace.path, 'folder'));
  writeFileSync(join(workspace.path, 'binary'), Buffer.from([65, 0, 66]));
  writeFileSync(join(workspace.path, 'latin1'), Buffer.from([0xfc, 0x65]));
  symlinkSync('/etc/hostname', join(workspace.path, 'link-out'));
  symlinkSync('a.txt', join(workspace.path, 'link-in'));
  symlinkSync('api_keys.json', join(workspace.path, 'innocent.txt'));
});

afterAll(() => workspace.remove());

test('each file is read whole and once, in order', () => {
  const again = ['sub/ü.txt', './a.txt', 'link-in'];
  expect(inside('sub/ü.txt', 'a.txt', ...again)).toEqual([
    { path: 'sub/ü.txt', text: 'Grüße\n' },
    { path: 'a.txt', text: 'a\n' }
  ]);
});

test('an absolute path and a link inside the workspace are followed', () => {
  const file = { path: 'a.txt', text: 'a\n' };
  expect(inside(join(workspace.path, 'a.txt'))).toEqual([file]);
  expect(inside('link-in')).toEqual([file]);
});

test.each([
  ['../x', /is not a file inside/],
  ['/etc/hostname', /is not a file inside/],
  ['link-out', /is not a file inside/],
  ['missing', /is not a file inside/],
  ['folder', /is not a file inside/],
  ['nul\0name', /is not a file inside/],
  ['api_keys.json', /holds keys/],
  ['innocent.txt', /holds keys/],
  ['sub/API_KEYS.json', /holds keys/],
  ['binary', /is not UTF-8 text/],
  ['latin1', /is not UTF-8 text/]
])('%j is refused by name', (path, reason) => {
  expect(() => inside('a.txt', path)).toThrow(reason);
});

test('the file that exceeds the limit is refused', () => {
  expect(() => inside('large.txt', 'also-large.txt')).toThrow(
    /"also-large.txt" is too much/
  );
});

test('a prompt has the question, the files and the form of the answer', () => {
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

test('a question without files has no context section', () => {
  expect(questionPrompt('Why?', [])).not.toContain('# Context');
});

test('a file with fences cannot close its own fence', () => {
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
])('an answer without a verdict line has no verdict (%#)', (answer) => {
  expect(verdictOf(answer)).toBeNull();
});
