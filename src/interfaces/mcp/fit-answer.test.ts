import { expect, test } from 'vitest';
import { limitsOf } from './clients.ts';
import { fitAnswer } from './fit-answer.ts';

const clients = ['claude-code', 'codex-mcp-client', 'github-copilot-developer'];

function bytesOf(answer: object): number {
  return Buffer.byteLength(JSON.stringify(answer));
}

test.each(clients)(
  'an answer for %s keeps as much text as it takes',
  async (name) => {
    for (const letter of ['한', '😀', '\u0001']) {
      const build = async (chars: number) => ({
        text: letter.repeat(chars)
      });
      const size = bytesOf(await fitAnswer(name, build));
      expect(size).toBeLessThanOrEqual(limitsOf(name).answerBytes);
      expect(size).toBeGreaterThan(0.9 * limitsOf(name).answerBytes);
    }
  }
);

test('a client nobody knows gets what everybody may get', async () => {
  const build = async (chars: number) => ({ text: '한'.repeat(chars) });
  const { text } = await fitAnswer('somebody-else', build);
  expect(text).toHaveLength(20_000);
});

test('what is too long without any text is told briefly', async () => {
  const rows = Array.from({ length: 5000 }, (_, row) => ({ row, status: '?' }));
  const build = async (chars: number) => ({ rows, text: 'x'.repeat(chars) });
  const brief = () => ({ rows: rows.length });
  expect(await fitAnswer('codex', build, brief)).toEqual({ rows: 5000 });
  expect(await fitAnswer('codex', build)).toMatchObject({ rows });
});
