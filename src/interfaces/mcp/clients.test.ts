import { expect, test } from 'vitest';
import { documentAt, sectionOf } from '../../testing/documents.ts';
import { limitsOf } from './clients.ts';

test.each([
  ['claude-code', 110],
  ['Claude Desktop', 110],
  ['codex-mcp-client', 290],
  ['github-copilot-developer', 170],
  ['gemini-cli-mcp-client', 590],
  ['somebody-else', 50],
  ['', 50]
])('a wait of the client "%s" is answered within %i s', (name, seconds) => {
  expect(limitsOf(name).waitSeconds).toBe(seconds);
});

test.each([
  ['claude-code', 50_000],
  ['codex-mcp-client', 12_000],
  ['github-copilot-developer', 20_000],
  ['gemini-cli-mcp-client', 40_000]
])(
  'an answer for "%s" stays below the %i bytes it passes on',
  (name, bytes) => {
    expect(limitsOf(name).answerBytes).toBeLessThan(bytes);
  }
);

test('docs/clients.md tells the limits of every client', () => {
  const page = documentAt('docs/clients.md');
  for (const name of ['claude', 'codex', 'copilot', 'gemini']) {
    const { waitSeconds, answerBytes } = limitsOf(name);
    expect(sectionOf(page, '## How long one wait lasts')).toContain(
      `| \`${name}\` | ${waitSeconds} s |`
    );
    expect(sectionOf(page, '## How long an answer may be')).toContain(
      `| \`${name}\` | ${answerBytes.toLocaleString('en-US')} bytes |`
    );
  }
});
