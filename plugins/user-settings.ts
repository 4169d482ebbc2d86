import { type Fields, record } from './json-fields.ts';

/**
 * A user's settings with something added, as text. They may hold comments;
 * what cannot be read stays as it is, for the program itself to complain of.
 */
export function changedSettings(
  settings: string | undefined,
  change: (settings: Fields) => Fields
): string {
  let known: unknown = {};
  try {
    if (settings?.trim()) known = JSON.parse(withoutComments(settings));
  } catch {
    return settings ?? '';
  }
  return JSON.stringify(change(record(known)));
}

function withoutComments(json: string): string {
  return json
    .replace(/^\uFEFF/, '')
    .replace(
      /("(?:[^"\\]|\\.)*")|\/\/[^\r\n]*|\/\*[\s\S]*?\*\//g,
      (_, text?: string) => text ?? ' '
    );
}
