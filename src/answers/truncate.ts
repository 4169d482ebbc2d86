import type { TextEnds, TextSlice } from '../core/state/files/text-file.ts';
import {
  type Budget,
  countWithin,
  type Facts,
  type Part,
  sizeOf
} from './budget.ts';

/** The smallest budget, in characters and bytes, to also show a text's end. */
const minForTwoEnds = 400;

/** The share of the beginning in a text with two ends. */
const beginningShare = 0.6;

/** What marks a cut text as such. */
export interface CutMarks {
  /** Stands between the two ends. */
  mark: string;
  /** Fields that say that the text is cut, and how to read on. */
  fields: (cut: { next: number; total: number; hasEnd: boolean }) => Facts;
}

/** The whole text if it fits, else its two ends. */
export function endsPart(name: string, ends: TextEnds, marks: CutMarks): Part {
  const { head, totalChars: total } = ends;
  const text = head + ends.tail;
  const isAll = text.length === total;
  return {
    chars: total,
    within: (budget) => {
      const whole = { [name]: text };
      if (isAll && fits(total, whole, budget)) return whole;
      const hasEnd = Math.min(budget.chars, budget.bytes) >= minForTwoEnds;
      const mark = hasEnd ? marks.mark : '';
      const share = hasEnd ? beginningShare : 1;
      const cut = (beginning: string, end: string, next: number): Facts => ({
        ...marks.fields({ next, total, hasEnd }),
        [name]: `${beginning}${mark}${end}`
      });
      const chars = budget.chars - mark.length;
      const bytes = budget.bytes - sizeOf(cut('', '', total));
      const beginning = beginningOf(isAll ? text : head, {
        chars: Math.ceil(chars * share),
        bytes: Math.ceil(bytes * share)
      });
      const end = hasEnd
        ? endOf(isAll ? text : ends.tail, {
            chars: chars - beginning.length,
            bytes: bytes - bytesOf(beginning)
          })
        : '';
      return cut(beginning, end, beginning.length);
    }
  };
}

/** As much of a text as fits, from an offset on. */
export function slicePart(
  name: string,
  offset: number,
  { text, totalChars: total }: TextSlice,
  readOn: (next: number) => Facts = (next) => ({ next_offset: next })
): Part {
  const cut = (part: string, end = offset + part.length): Facts => ({
    ...(part.length === total
      ? {}
      : {
          truncated: true,
          total_chars: total,
          ...(end < total ? readOn(end) : {})
        }),
    [name]: part
  });
  return {
    chars: text.length,
    within: (budget) => {
      const whole = cut(text);
      if (fits(text.length, whole, budget)) return whole;
      // Measured with the longest possible offset.
      const bytes = budget.bytes - sizeOf(cut('', total - 1));
      return cut(beginningOf(text, { chars: budget.chars, bytes }));
    }
  };
}

/** A short text, or null. A cut text ends in the mark. */
export function linePart(name: string, line: string | null, mark = '…'): Part {
  return {
    chars: line?.length ?? 0,
    within: (budget) => {
      const whole = { [name]: line };
      if (line === null || fits(line.length, whole, budget)) return whole;
      const hasRoom = Math.min(budget.chars, budget.bytes) >= 4 * bytesOf(mark);
      const ending = hasRoom ? mark : '…';
      const beginning = beginningOf(line, {
        chars: budget.chars - ending.length,
        bytes: budget.bytes - sizeOf({ [name]: ending })
      });
      return { [name]: beginning + ending };
    }
  };
}

/**
 * The first items of a list. A cut list comes with its total.
 * @param countsChars whether the items are texts that share the characters of
 *   an answer
 */
export function listPart(
  name: string,
  items: unknown[],
  countsChars = false
): Part {
  const length = items
    .map((item) => JSON.stringify(item).length + 1)
    .reduce((sum, one) => sum + one, 0);
  return {
    chars: countsChars ? length : 0,
    within: (budget) => {
      const chars = countsChars ? budget.chars : Number.POSITIVE_INFINITY;
      const whole = { [name]: items };
      if (fits(length, whole, { ...budget, chars })) return whole;
      const total = { [`${name}_total`]: items.length };
      const bytes = budget.bytes - sizeOf({ [name]: [], ...total });
      const count = countWithin(items, { chars, bytes });
      return { [name]: items.slice(0, count), ...total };
    }
  };
}

function fits(chars: number, facts: Facts, budget: Budget): boolean {
  return chars <= budget.chars && sizeOf(facts) <= budget.bytes;
}

function beginningOf(text: string, budget: Budget): string {
  return lettersWithin(text, budget).join('');
}

function endOf(text: string, budget: Budget): string {
  return lettersWithin([...text].reverse(), budget)
    .reverse()
    .join('');
}

/** Keeps code points whole: strict clients reject half of a surrogate pair. */
function lettersWithin(letters: Iterable<string>, budget: Budget): string[] {
  const found: string[] = [];
  let { chars, bytes } = budget;
  for (const letter of letters) {
    chars -= letter.length;
    bytes -= bytesOf(letter);
    if (chars < 0 || bytes < 0) break;
    found.push(letter);
  }
  return found;
}

/** Bytes of a text between the quotes of JSON. */
function bytesOf(text: string): number {
  return Buffer.byteLength(JSON.stringify(text)) - 2;
}
