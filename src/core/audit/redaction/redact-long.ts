import { setImmediate as yieldToEventLoop } from 'node:timers/promises';
import { longestSecret, type Redact } from './redact.ts';

/** Characters that are redacted before yielding to the event loop. */
const sliceChars = 256 * 1024;

/**
 * Redacts a text of any length, or the part between `first` and `last`, slice
 * by slice, including secrets that span two slices or the ends of the part.
 * The results add up to the text.
 */
export async function redactLong(
  text: string,
  redact: Redact,
  first = 0,
  last = text.length
): Promise<string[]> {
  const parts: string[] = [];
  let end = 0;
  for (let from = first; from < last; from = end) {
    const start = Math.max(0, from - longestSecret);
    end = from + sliceChars < last ? sliceEnd(text, from + sliceChars) : last;
    const around = text.slice(start, end + longestSecret);
    parts.push(redact(around, from - start, end - start));
    if (end < last) await yieldToEventLoop();
  }
  return parts;
}

/** Avoids splitting a surrogate pair or a CRLF. */
function sliceEnd(text: string, wanted: number): number {
  const end = Math.min(text.length, wanted);
  const isWithin =
    text.startsWith('\r\n', end - 1) ||
    /[\udc00-\udfff]/.test(text.charAt(end));
  return isWithin ? end - 1 : end;
}
