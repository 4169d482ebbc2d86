import { type Facts, type Form, tellWithin } from '../../core/runs/fit.ts';
import { inlineChars } from '../../core/runs/report.ts';
import { limitsOf } from './clients.ts';

/** What a form says that leaves out facts of agents. */
export const toldShortly =
  'Told shortly: result gives each with all its facts, and reads on from next_offset.';

/**
 * An answer that the client passes on whole: in the first form that has room
 * for what it tells.
 */
export function fitAnswer(clientName: string, forms: Form[]): Facts {
  const { answerBytes: bytes } = limitsOf(clientName);
  return tellWithin(forms, { chars: inlineChars, bytes });
}

/** The message of an answer, if there is something to say. */
export function said(...sentences: string[]): Facts {
  const message = sentences.join(' ');
  return message === '' ? {} : { message };
}
