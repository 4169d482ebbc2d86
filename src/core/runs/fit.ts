export type Facts = Record<string, unknown>;

export interface Room {
  /** Characters of text. */
  chars: number;
  /** Of the JSON, in UTF-8. */
  bytes: number;
}

/** A field or a few of an answer that can be told in less room. */
export interface Part {
  /** Characters of text it would have, were there room for all. */
  chars: number;
  within: (room: Room) => Facts;
}

/**
 * An answer with its parts where `told` puts them: without them to see what
 * the rest takes, then with each in its share of the room.
 */
export type Answer = (told: (part: Part) => Facts) => Facts;

export interface Form {
  answer: Answer;
  /** Bytes for each long part below which a shorter form says more. */
  least: number;
  /** The same in characters. */
  leastChars?: number;
}

/** The first form that has room for its parts; else the last, as it is. */
export function tellWithin(forms: Form[], room: Room): Facts {
  let facts: Facts = {};
  for (const { answer, least, leastChars = 0 } of forms) {
    const share = shareOf(answer, room);
    facts = answer((part) => part.within(share));
    if (share.bytes >= least && share.chars >= leastChars) break;
  }
  return facts;
}

/** What each part may take: first in characters, then in what is left of bytes. */
function shareOf(answer: Answer, room: Room): Room {
  const parts: Part[] = [];
  const rest = answer((part) => {
    parts.push(part);
    return {};
  });
  const chars = evenShare(
    parts.map((part) => part.chars),
    room.chars
  );
  const bytes = evenShare(
    parts.map((part) =>
      sizeOf(part.within({ chars, bytes: Number.POSITIVE_INFINITY }))
    ),
    room.bytes - sizeOf(rest) - 1
  );
  return { chars, bytes };
}

/**
 * The most that one may take so that all together have room. Who needs less
 * leaves the difference to the others; infinite when nobody has to be short.
 */
export function evenShare(needs: number[], room: number): number {
  if (room < 0) return 0;
  let left = room;
  for (const [index, need] of needs.toSorted((a, b) => a - b).entries()) {
    const share = Math.floor(left / (needs.length - index));
    if (need > share) return share;
    left -= need;
  }
  return Number.POSITIVE_INFINITY;
}

/** Bytes that these fields take in the JSON of an answer, comma included. */
export function sizeOf(facts: Facts): number {
  return Buffer.byteLength(JSON.stringify(facts)) - 1;
}
