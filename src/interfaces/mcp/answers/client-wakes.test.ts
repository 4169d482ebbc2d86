import { expect, test } from 'vitest';
import { isWokenByHook, wakeSentence } from './client-wakes.ts';

const sentence = (client: string, path: string | undefined = '/bin/troupe') =>
  wakeSentence(client, '1a2b3c4d', { locate: () => path });

test.each(['claude-code', 'github-copilot-developer'])(
  '%s is told the command whose end wakes it',
  (client) => {
    expect(sentence(client)).toBe(
      ' Or end your turn: troupe wait 1a2b3c4d in a background shell wakes you when it ends.'
    );
  }
);

test.each(['codex-mcp-client', 'gemini-cli-mcp-client', 'claude-ai', ''])(
  '%j, which nothing wakes, is told no command',
  (client) => {
    expect(sentence(client)).toBe('');
  }
);

test('where troupe is not on PATH, the command is this copy of it', () => {
  const text = wakeSentence('claude-code', '1a2b3c4d', {
    locate: () => undefined
  });
  expect(text).toMatch(/: node \S.*dist\/troupe\.cjs'? wait 1a2b3c4d in /);
});

test('only Claude Code has a hook that wakes it', () => {
  expect(isWokenByHook('claude-code')).toBe(true);
  expect(isWokenByHook('github-copilot-developer')).toBe(false);
});
