import type { TextEnds, TextSlice } from '../state/text-file.ts';
import { type Facts, type Part, type Room, sizeOf } from './fit.ts';

/** Below so many characters or bytes, a text has a beginning and no end. */
const leastOfTwoEnds = 400;

/** Of what a text may take, its beginning's share. */
const beginningShare = 0.6;

/** How a text that is cut says so. */
export interface CutWords {
  /** Stands between its two ends. */
  mark: string;
  /** The fields that tell that it is cut, and how to read on. */
  tell: (cut: { next: number; total: number; hasEnd: boolean }) => Facts;
}

/** The whole text when it fits, else its two ends. */
export function endsPart(name: string, ends: TextEnds, words: CutWords): Part {
  const { head, totalChars: total } = ends;
  const text = head + ends.tail;
  const isAll = text.length === total;
  return {
    chars: total,
    within: (room) => {
      const whole = { [name]: text };
      if (isAll && total <= room.chars && sizeOf(whole) <= room.bytes)
        return whole;
      const hasEnd = Math.min(room.chars, room.bytes) >= leastOfTwoEnds;
      const mark = hasEnd ? words.mark : '';
      const share = hasEnd ? beginningShare : 1;
      const told = (beginning: string, end: string, next: number): Facts => ({
        ...words.tell({ next, total, hasEnd }),
        [name]: `${beginning}${mark}${end}`
      });
      const chars = room.chars - mark.length;
      const bytes = room.bytes - sizeOf(told('', '', total));
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
      return told(beginning, end, beginning.length);
    }
  };
}

/** As much of a text as there is room for, from an offset on. */
export function slicePart(
  name: string,
  offset: number,
  { text, totalChars: total }: TextSlice,
  tell: (cut: { next: number | undefined; total: number }) => Facts
): Part {
  const told = (part: string, end = offset + part.length): Facts => ({
    ...(part.length === total
      ? {}
      : tell({ total, next: end < total ? end : undefined })),
    [name]: part
  });
  return {
    chars: text.length,
    within: (room) => {
      const whole = told(text);
      if (text.length <= room.chars && sizeOf(whole) <= room.bytes)
        return whole;
      // As if it went on from the last character: no number is longer.
      const bytes = room.bytes - sizeOf(told('', total - 1));
      return told(beginningOf(text, { chars: room.chars, bytes }));
    }
  };
}

/** A sentence or so, if there is one; it ends in the mark when it is cut. */
export function linePart(name: string, line: string | null, mark = '…'): Part {
  return {
    chars: line?.length ?? 0,
    within: (room) => {
      const whole = { [name]: line };
      if (line === null) return whole;
      if (line.length <= room.chars && sizeOf(whole) <= room.bytes)
        return whole;
      const isRoomy = Math.min(room.chars, room.bytes) >= 4 * bytesOf(mark);
      const ending = isRoomy ? mark : '…';
      const beginning = beginningOf(line, {
        chars: room.chars - ending.length,
        bytes: room.bytes - sizeOf({ [name]: ending })
      });
      return { [name]: beginning + ending };
    }
  };
}

/** The first of a list, with how many there are when some are left out. */
export function listPart(
  name: string,
  items: unknown[],
  holdsTexts = false
): Part {
  const lengths = items.map((item) => JSON.stringify(item).length + 1);
  const length = holdsTexts ? lengths.reduce((sum, one) => sum + one, 0) : 0;
  return {
    chars: length,
    within: (room) => {
      const chars = holdsTexts ? room.chars : Number.POSITIVE_INFINITY;
      const whole = { [name]: items };
      if (length <= chars && sizeOf(whole) <= room.bytes) return whole;
      const total = { [`${name}_total`]: items.length };
      const bytes = room.bytes - sizeOf({ [name]: [], ...total });
      return { [name]: firstWithin(items, { chars, bytes }), ...total };
    }
  };
}

/** A name that is no name any more is not told whole. */
export function shortName(name: string, chars = 200): string {
  const room = { chars, bytes: Number.POSITIVE_INFINITY };
  return name.length > chars ? `${beginningOf(name, room)}…` : name;
}

function firstWithin(items: unknown[], { chars, bytes }: Room): unknown[] {
  let room = { chars, bytes };
  const end = items.findIndex((item) => {
    const json = JSON.stringify(item);
    room = {
      chars: room.chars - json.length - 1,
      bytes: room.bytes - Buffer.byteLength(json) - 1
    };
    return room.chars < 0 || room.bytes < 0;
  });
  return end < 0 ? items : items.slice(0, end);
}

function beginningOf(text: string, room: Room): string {
  return lettersWithin(text, room).join('');
}

function endOf(text: string, room: Room): string {
  return lettersWithin([...text].reverse(), room)
    .reverse()
    .join('');
}

/** Whole characters: half of one would spoil the JSON for strict clients. */
function lettersWithin(letters: Iterable<string>, room: Room): string[] {
  const found: string[] = [];
  let { chars, bytes } = room;
  for (const letter of letters) {
    chars -= letter.length;
    bytes -= bytesOf(letter);
    if (chars < 0 || bytes < 0) break;
    found.push(letter);
  }
  return found;
}

/** Of a text within the quotes of JSON. */
function bytesOf(text: string): number {
  return Buffer.byteLength(JSON.stringify(text)) - 2;
}
