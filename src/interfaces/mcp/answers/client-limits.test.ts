import { expect, test } from 'vitest';
import {
  documentAt,
  sectionOf
} from '../../../../test/kit/judges/documents.ts';
import { limitsOf } from './client-limits.ts';

test.each([
  ['claude-code', 110],
  ['Claude Desktop', 110],
  ['codex-mcp-client', 290],
  ['github-copilot-developer', 170],
  ['gemini-cli-mcp-client', 590],
  ['another-client', 50],
  ['', 50]
])('a wait of the client "%s" returns within %i s', (name, seconds) => {
  expect(limitsOf(name).waitSeconds).toBe(seconds);
});

test.each(['claude', 'codex', 'copilot', 'gemini'])(
  'the limit for %s is just below what the client was measured to show',
  (name) => {
    const rows = sectionOf(
      documentAt('docs/start/clients.md'),
      '## How long an answer may be'
    );
    const row = rows.split('\n').find((one) => one.startsWith(`| \`${name}\``));
    const [, count = '', unit = ''] =
      /above ([\d,]+) (KB|bytes|characters)/.exec(row ?? '') ?? [];
    const measured =
      Number(count.replace(',', '')) * (unit === 'KB' ? 1000 : 1);
    const { answerBytes } = limitsOf(name);
    // Leaves room for the text that the client adds, but not much more.
    expect(answerBytes).toBeLessThanOrEqual(measured - 500);
    expect(answerBytes).toBeGreaterThan(0.9 * measured);
  }
);

test('docs/start/clients.md lists the limits of every client', () => {
  const page = documentAt('docs/start/clients.md');
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
