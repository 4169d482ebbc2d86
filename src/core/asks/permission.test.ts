import { expect, test } from 'vitest';
import { permissionOf } from './permission.ts';

const where = { cwd: '/work', edits: [] };
const callOf = (tool: string, input: Record<string, unknown>) =>
  permissionOf(tool, input, where).call;

test('a command is the same call with another description', () => {
  const one = callOf('Bash', { command: 'make', description: 'Builds it' });
  expect(callOf('Bash', { command: 'make', description: 'Again' })).toBe(one);
  expect(callOf('Bash', { command: 'make' })).toBe(one);
  expect(callOf('Bash', { command: 'make', timeout: 9 })).not.toBe(one);
});

test.each([
  ['mcp__tracker__create', { title: 'x', description: 'harmless' }],
  ['mcp__shell__run', { command: 'make', description: 'harmless' }],
  ['Write', { file_path: 'a', description: 'harmless' }],
  ['Fetch', { url: 'https://x.example', description: 'harmless' }],
  ['Plan', { steps: [{}, { description: 'harmless' }] }],
  ['Bash', { command: 'make', env: { description: 'harmless' } }]
])('the description in %s is what the call does', (tool, input) => {
  const text = JSON.stringify(input).replace('harmless', 'harmful');
  expect(callOf(tool, JSON.parse(text))).not.toBe(callOf(tool, input));
});
