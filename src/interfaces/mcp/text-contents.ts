import { type Part, tellWithin } from '../../core/runs/fit.ts';
import { inlineChars } from '../../core/runs/report.ts';
import { limitsOf } from './clients.ts';
import type { Asked, Content } from './resources.ts';

/** For what is around the text, and for what says where the rest is. */
const frameChars = 1000;

/**
 * A text whole, or as much of it as an answer may carry. Then a second text
 * says how to read on, so that the first has nothing but its own words.
 * @param part tells it as `text`, cut with `total_chars` and `next_offset`
 * @param path of the file that has all of it
 */
export function textContents(
  part: Part,
  mimeType: string,
  path: string,
  { place, uri, clientName }: Asked
): Content[] {
  const room = {
    chars: inlineChars - frameChars,
    bytes: limitsOf(clientName).answerBytes - frameChars
  };
  const form = {
    answer: (told: (part: Part) => object) => ({ ...told(part) })
  };
  const facts = tellWithin([{ ...form, least: 0 }], room);
  const { text, truncated, total_chars: total, next_offset: next } = facts;
  const contents = [{ uri, mimeType, text: String(text) }];
  if (truncated !== true) return contents;
  const onward =
    next === undefined ? 'the last' : `${place.uri}?offset=${next} reads on`;
  const note = `This is a part of ${total} characters, ${onward}. The file with all of it: ${path}`;
  return [...contents, { uri: place.uri, mimeType: 'text/plain', text: note }];
}
