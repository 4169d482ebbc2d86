/**
 * The line in which a program says that it does not take its arguments, in
 * the words of the usual parsers; help may stand around it.
 */
export function refusedArguments(text: string): string | undefined {
  return refusal.exec(text)?.[0].trim();
}

const refusal = new RegExp(
  `^(?:[\\w.-]+: )?(?:error: )?(?:${[
    '(?:unknown|unexpected|unrecognized) (?:option|argument|flag)s?\\b',
    "invalid (?:option -- '|value ')",
    "option '.*' argument '.*' is invalid",
    'flag provided but not defined'
  ].join('|')}).*$`,
  'im'
);
