import { expect, test } from 'vitest';
import type { Answer } from '../../core/runs/fit.ts';
import { linePart } from '../../core/runs/parts.ts';
import { limitsOf } from './clients.ts';
import { fitAnswer } from './fit-answer.ts';

const clients = [
  'claude-code',
  'codex-mcp-client',
  'github-copilot-developer',
  'gemini-cli-mcp-client'
];

function bytesOf(answer: object): number {
  return Buffer.byteLength(JSON.stringify(answer));
}

test.each(clients)('an answer for %s has as much text as it takes', (name) => {
  const limit = limitsOf(name).answerBytes;
  for (const letter of ['한', '😀', '\u0001']) {
    const text = letter.repeat(20_000 / letter.length);
    const answer: Answer = (told) => ({
      status: 'completed',
      ...told(linePart('text', text))
    });
    const facts = fitAnswer(name, [{ answer, least: 0 }]);
    const size = bytesOf(facts);
    expect(size).toBeLessThanOrEqual(limit);
    if (facts.text === text) continue;
    // One more letter, escaped, would not have had room.
    expect(size).toBeGreaterThan(limit - 8);
  }
});

test('a client nobody knows gets what everybody may get', () => {
  const answer: Answer = (told) => told(linePart('text', '한'.repeat(30_000)));
  const { text } = fitAnswer('somebody-else', [{ answer, least: 0 }]);
  expect(text).toHaveLength(20_000);
});

test('what is too long without any text is told in a shorter form', () => {
  const rows = Array.from({ length: 5000 }, (_, row) => ({ row, status: '?' }));
  const forms = [
    { answer: () => ({ rows }), least: 1 },
    { answer: () => ({ rows: rows.length }), least: 0 }
  ];
  expect(fitAnswer('codex', forms)).toEqual({ rows: 5000 });
  expect(fitAnswer('somebody-else', forms)).toEqual({ rows });
});
