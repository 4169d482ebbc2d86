import { expect, test } from 'vitest';
import { longestWaitSeconds } from './clients.ts';

test.each([
  ['claude-code', 110],
  ['Claude Desktop', 110],
  ['codex-mcp-client', 290],
  ['github-copilot-developer', 170],
  ['gemini-cli-mcp-client', 590],
  ['somebody-else', 50],
  ['', 50]
])('a wait of the client "%s" is answered within %i s', (name, seconds) => {
  expect(longestWaitSeconds(name)).toBe(seconds);
});
