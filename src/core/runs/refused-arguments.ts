/**
 * The line in which a program says that it does not take its arguments, in
 * the words of the usual parsers; help may follow. Warnings may come before
 * it, and nothing else: what a program at work says so, a tool of its said.
 */
export function refusedArguments(text: string): string | undefined {
  return refusal.exec(text)?.[1]?.trim();
}

const refusal = new RegExp(
  `^(?:\\s*\\n|.*\\bwarn(?:ing)?\\b.*\\n)*((?:[\\w.-]+: )?(?:error: )?(?:${[
    '(?:unknown|unexpected|unrecognized) (?:option|argument|flag)s?\\b',
    "invalid (?:option -- '|value ')",
    "option '.*' argument '.*' is invalid",
    'flag provided but not defined'
  ].join('|')}).*)`,
  'i'
);
