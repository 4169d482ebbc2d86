/** The protocol's limit of values in one response. */
const most = 100;

/** A longer text is not completed: each value would repeat it. */
const mostTyped = 1000;

export interface Completion {
  values: string[];
  total: number;
  hasMore: boolean;
}

/** The choices that begin with the typed text, in their order. */
export function suggest(typed: string, choices: string[]): Completion {
  const begin = typed.toLowerCase();
  const found = choices.filter((one) => one.toLowerCase().startsWith(begin));
  const values = found.slice(0, most);
  return { values, total: found.length, hasMore: found.length > most };
}

/** Completes the last item of a comma-separated list, without repeats. */
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

/** The items of a comma-separated list. */
export function partsOf(list: string): string[] {
  return list
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part !== '');
}
