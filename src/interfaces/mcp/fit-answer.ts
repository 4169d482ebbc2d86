import { inlineChars } from '../../core/runs/report.ts';
import { limitsOf } from './clients.ts';

/** Of agents' text, what is left at the least. */
const leastChars = 1000;

type Facts = Record<string, unknown>;

/**
 * An answer that the client passes on whole. One that it would cut gets less
 * of the agents' text instead, and tells where the rest is.
 * @param build the answer with so many characters of agents' text
 * @param brief the answer without any, for when the rest alone is too long
 */
export async function fitAnswer(
  clientName: string,
  build: (chars: number) => Promise<Facts>,
  brief?: () => Facts
): Promise<Facts> {
  const { answerBytes } = limitsOf(clientName);
  let chars = inlineChars;
  for (;;) {
    const facts = await build(chars);
    const bytes = Buffer.byteLength(JSON.stringify(facts));
    if (bytes <= answerBytes) return facts;
    if (chars === leastChars) return brief?.() ?? facts;
    const fitting = Math.floor((chars * 0.95 * answerBytes) / bytes);
    chars = Math.max(leastChars, fitting);
  }
}
