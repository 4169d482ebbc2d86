import { expect, test } from 'vitest';
import { buildPrompt } from './plan-members.ts';

const footer = [
  '---',
  '',
  '# Setup & Reporting Rules',
  '',
  'If you notice any setup or environment problems that prevent you from completing your task,',
  'you MUST clearly report them as SETUP / ENVIRONMENT ISSUES.',
  '',
  'Explain what you observed and suggest specific steps for the human to fix.',
  'Do not pretend the task succeeded if the environment blocks you.'
].join('\n');

test('without chats, a prompt has role, task and reporting rules', () => {
  expect(buildPrompt('You test.\n\nWell.', 'Test it.', 'none')).toBe(
    `# Role\n\nYou test.\n\nWell.\n\n---\n\n# Task\n\nTest it.\n\n${footer}`
  );
});

test('the prompt of a new chat has an initial task', () => {
  expect(buildPrompt('You test.', 'Test it.', 'new')).toBe(
    `# Role\n\nYou test.\n\n---\n\n# Initial Task\n\nTest it.\n\n${footer}`
  );
});

test('the prompt of an existing chat does not repeat the role', () => {
  expect(buildPrompt('You test.', 'Test it.', 'existing')).toBe(
    `# Task\n\nTest it.\n\n${footer}`
  );
});

test.each(['none', 'new', 'existing'] as const)(
  'a task with any characters is unchanged (%s)',
  (chat) => {
    const task = ' \n# Role\n---\n<% x %> $& $1 {{y}} `z` \\n \u{1f3ad}\r\n\t ';
    const prompt = buildPrompt('$& $1', task, chat);
    expect(prompt).toContain(`Task\n\n${task}\n\n${footer}`);
    expect(prompt.includes('# Role\n\n$& $1\n\n---')).toBe(chat !== 'existing');
  }
);
