/** What goes into the place of an argument. */
export interface Value {
  /** As the user has written it; undefined for nothing. */
  given: string | undefined;
  /** Words of ours that stand there for nothing. */
  absent: string;
  /** Words of ours behind what was given. */
  note?: string | undefined;
}

/**
 * A text with its places filled. A place that has a line to itself gets a
 * fence longer than any run of backticks in the value, another gets a code
 * span: so nothing that is put in can pass for the text around it.
 */
export function fill(body: string, values: Map<string, Value>): string {
  // All at once: what a value holds is no place.
  return body.replace(
    /^\{\{(\w+)\}\}$|\{\{(\w+)\}\}/gm,
    (place, alone?: string, within?: string) => {
      const value = values.get(alone ?? within ?? '');
      if (!value) return place;
      const { given, absent, note } = value;
      if (given === undefined) return absent;
      const isAlone = alone !== undefined;
      const shown = isAlone ? fence(given) : span(given);
      if (note === undefined) return shown;
      return `${shown}${isAlone ? '\n\n' : ' '}${note}`;
    }
  );
}

function fence(text: string): string {
  const marks = '`'.repeat(Math.max(3, longestTicks(text) + 1));
  return `${marks}text\n${text.replace(notShown, '')}\n${marks}`;
}

function span(text: string): string {
  const marks = '`'.repeat(longestTicks(text) + 1);
  const line = text.replace(notShown, '').replace(/\s+/g, ' ').trim();
  // Without the space a backtick at the edge would belong to the marks.
  const edge = /^`|`$/.test(line) ? ' ' : '';
  return `${marks}${edge}${line}${edge}${marks}`;
}

/** Control characters but tab and line feed, and what turns directions. */
const notShown =
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;

function longestTicks(text: string): number {
  let most = 0;
  for (const [run] of text.matchAll(/`+/g)) most = Math.max(most, run.length);
  return most;
}
