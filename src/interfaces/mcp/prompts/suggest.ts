/** The protocol lets an answer have no more. */
const most = 100;

/** What goes on from more than this is not looked for: it would be repeated with each. */
const mostTyped = 1000;

export interface Completion {
  values: string[];
  total: number;
  hasMore: boolean;
}

/** Those that go on from what was typed, in their order. */
export function suggest(typed: string, choices: string[]): Completion {
  const begin = typed.toLowerCase();
  const found = choices.filter((one) => one.toLowerCase().startsWith(begin));
  const values = found.slice(0, most);
  return { values, total: found.length, hasMore: found.length > most };
}

/** The same for the last of a list with commas; what is in it is not again. */
export function suggestNext(typed: string, choices: string[]): Completion {
  if (typed.length > mostTyped) return suggest('', []);
  const [, before = '', last = ''] = /^(.*,\s*)?(.*)$/s.exec(typed) ?? [];
  const named = partsOf(before);
  const { values, ...rest } = suggest(
    last,
    choices.filter((one) => !named.includes(one))
  );
  return { ...rest, values: values.map((one) => `${before}${one}`) };
}

/** What a list with commas names. */
export function partsOf(list: string): string[] {
  return list
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part !== '');
}
