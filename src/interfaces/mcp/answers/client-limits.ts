import {
  type Answer,
  type Facts,
  type Form,
  fitInto
} from '../../../answers/budget.ts';
import { inlineChars } from '../../../answers/format-run.ts';
import type { TextOf } from '../tool/define-tool.ts';
import { readable } from './readable.ts';

interface ClientLimits {
  /** Seconds until a long call has to return. */
  waitSeconds: number;
  /** The longest answer, as JSON in UTF-8. */
  answerBytes: number;
  /** Whether the user sees the text of an answer, whole. */
  showsText?: boolean;
}

/**
 * A client aborts a longer call and cuts a longer answer. Measured with real
 * clients, minus a margin (docs/start/clients.md).
 */
const knownLimits: [pattern: RegExp, limits: ClientLimits][] = [
  [/claude/i, { waitSeconds: 110, answerBytes: 48_000 }],
  [/codex/i, { waitSeconds: 290, answerBytes: 11_500, showsText: true }],
  [/copilot/i, { waitSeconds: 170, answerBytes: 19_500 }],
  [/gemini/i, { waitSeconds: 590, answerBytes: 38_000, showsText: true }]
];

const defaultLimits: ClientLimits = {
  waitSeconds: 50,
  answerBytes: Number.POSITIVE_INFINITY
};

/** The limits of a client, by `clientInfo.name`. */
export function limitsOf(clientName: string): ClientLimits {
  const known = knownLimits.find(([pattern]) => pattern.test(clientName));
  return known?.[1] ?? defaultLimits;
}

/**
 * Shortens an answer until the client shows all of it.
 * @param textOf renders the answer as text; undefined: JSON
 */
export function fitAnswer(
  clientName: string,
  forms: Answer | Form[],
  textOf?: TextOf
): Facts {
  const { answerBytes } = limitsOf(clientName);
  const within = (share: number): Facts => {
    const facts = fitInto(forms, {
      chars: Math.floor(inlineChars * share),
      bytes: Math.floor(answerBytes * share)
    });
    const text = textOf?.(facts) ?? '';
    const excess = Math.max(
      text.length / inlineChars,
      Buffer.byteLength(text) / answerBytes
    );
    return excess <= 1 || share < 0.1 ? facts : within((share * 0.98) / excess);
  };
  return within(1);
}

/** The text of what agents have said, for a client whose user sees it. */
export function readableFor(clientName: string): TextOf | undefined {
  return limitsOf(clientName).showsText ? readable : undefined;
}

/** Whether a client shows this answer whole. */
export function fits(facts: Facts, clientName: string): boolean {
  const text = JSON.stringify(facts);
  const { answerBytes } = limitsOf(clientName);
  return text.length <= inlineChars && Buffer.byteLength(text) <= answerBytes;
}

/** The field `message` of an answer; no field without sentences. */
export function messageField(...sentences: string[]): Facts {
  const message = sentences.join(' ');
  return message === '' ? {} : { message };
}
