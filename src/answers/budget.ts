export type Facts = Record<string, unknown>;

/** The size limits of an answer, or of a part of it. */
export interface Budget {
  /** Characters of text. */
  chars: number;
  /** Bytes of JSON in UTF-8. */
  bytes: number;
}

/** One or several fields that can be shortened. */
export interface Part {
  /** Characters of text without a limit. */
  chars: number;
  within: (budget: Budget) => Facts;
}

/** Renders a part with its share of the budget. */
export type Put = (part: Part) => Facts;

export type Answer = (put: Put) => Facts;

/** A form of an answer; the next form is used if its parts get too little. */
export interface Form {
  answer: Answer;
  /** The least bytes for each long part. */
  minBytes?: number;
  minChars?: number;
}

/**
 * The first form with enough budget for its parts, else the last one. All
 * parts of a form get an equal share; a shorter part leaves the rest of its
 * share to the longer ones.
 */
export function fitInto(forms: Answer | Form[], budget: Budget): Facts {
  let facts: Facts = {};
  const all = typeof forms === 'function' ? [{ answer: forms }] : forms;
  for (const { answer, minBytes = 0, minChars = 0 } of all) {
    const share = shareOf(answer, budget);
    facts = answer((part) => part.within(share));
    if (share.bytes >= minBytes && share.chars >= minChars) break;
  }
  return facts;
}

/** Shares the characters first, then the bytes that the other facts leave. */
function shareOf(answer: Answer, budget: Budget): Budget {
  const parts: Part[] = [];
  const rest = answer((part) => {
    parts.push(part);
    return {};
  });
  const chars = evenShare(
    parts.map((part) => part.chars),
    budget.chars
  );
  const bytes = evenShare(
    parts.map((part) =>
      sizeOf(part.within({ chars, bytes: Number.POSITIVE_INFINITY }))
    ),
    budget.bytes - sizeOf(rest) - 1
  );
  return { chars, bytes };
}

/** The largest share with which all needs fit; infinite when all fit whole. */
export function evenShare(needs: number[], total: number): number {
  if (total < 0) return 0;
  let left = total;
  for (const [index, need] of needs.toSorted((a, b) => a - b).entries()) {
    const share = Math.floor(left / (needs.length - index));
    if (need > share) return share;
    left -= need;
  }
  return Number.POSITIVE_INFINITY;
}

/** Bytes of these fields in the JSON of an answer, with a comma. */
export function sizeOf(facts: Facts): number {
  return Buffer.byteLength(JSON.stringify(facts)) - 1;
}

/** How many of these items, each as JSON with a comma, fit. */
export function countWithin(items: unknown[], budget: Budget): number {
  let { chars, bytes } = budget;
  const end = items.findIndex((item) => {
    const json = JSON.stringify(item);
    chars -= json.length + 1;
    bytes -= Buffer.byteLength(json) + 1;
    return chars < 0 || bytes < 0;
  });
  return end < 0 ? items.length : end;
}
