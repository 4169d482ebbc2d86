import { type Facts, type Form, tellWithin } from '../../core/runs/fit.ts';
import { inlineChars } from '../../core/runs/report.ts';
import { limitsOf } from './clients.ts';
import type { TextOf } from './define-tool.ts';

/** What a form says that leaves out facts of agents. */
export const toldShortly =
  'Told shortly: result gives each with all its facts, and reads on from next_offset.';

/**
 * An answer that the client passes on whole: in the first form that has room
 * for what it tells.
 * @param textOf how it reads as text, when that is not its JSON
 */
export function fitAnswer(
  clientName: string,
  forms: Form[],
  textOf?: TextOf
): Facts {
  const { answerBytes } = limitsOf(clientName);
  const within = (share: number): Facts => {
    const room = {
      chars: Math.floor(inlineChars * share),
      bytes: Math.floor(answerBytes * share)
    };
    const facts = tellWithin(forms, room);
    const text = textOf?.(facts) ?? '';
    const excess = Math.max(
      text.length / inlineChars,
      Buffer.byteLength(text) / answerBytes
    );
    return excess <= 1 || share < 0.1 ? facts : within((share * 0.98) / excess);
  };
  return within(1);
}

/** The message of an answer, if there is something to say. */
export function said(...sentences: string[]): Facts {
  const message = sentences.join(' ');
  return message === '' ? {} : { message };
}
