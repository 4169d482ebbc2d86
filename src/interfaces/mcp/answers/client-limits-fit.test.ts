import { expect, test } from 'vitest';
import type { Answer } from '../../../answers/budget.ts';
import { linePart } from '../../../answers/truncate.ts';
import { fitAnswer, limitsOf } from './client-limits.ts';

const clients = [
  'claude-code',
  'codex-mcp-client',
  'github-copilot-developer',
  'gemini-cli-mcp-client'
];

function bytesOf(answer: object): number {
  return Buffer.byteLength(JSON.stringify(answer));
}

test.each(clients)(
  'an answer for %s uses the whole limit of the client',
  (name) => {
    const limit = limitsOf(name).answerBytes;
    for (const letter of ['한', '😀', '\u0001']) {
      const text = letter.repeat(20_000 / letter.length);
      const answer: Answer = (put) => ({
        status: 'completed',
        ...put(linePart('text', text))
      });
      const facts = fitAnswer(name, answer);
      const size = bytesOf(facts);
      expect(size).toBeLessThanOrEqual(limit);
      if (facts.text === text) continue;
      // One more escaped character would not fit.
      expect(size).toBeGreaterThan(limit - 8);
    }
  }
);

test('an unknown client gets the common limit of characters', () => {
  const answer: Answer = (put) => put(linePart('text', '한'.repeat(30_000)));
  const { text } = fitAnswer('another-client', answer);
  expect(text).toHaveLength(20_000);
});

test('an answer that is too long without any text takes a shorter form', () => {
  const rows = Array.from({ length: 5000 }, (_, row) => ({ row, status: '?' }));
  const forms = [
    { answer: () => ({ rows }), minBytes: 1 },
    { answer: () => ({ rows: rows.length }) }
  ];
  expect(fitAnswer('codex', forms)).toEqual({ rows: 5000 });
  expect(fitAnswer('another-client', forms)).toEqual({ rows });
});
