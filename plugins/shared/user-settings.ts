import { type Fields, record } from './json-fields.ts';

/**
 * A user's settings with a change, as text. Settings may contain comments. Text
 * that cannot be parsed stays unchanged, so that the program reports the error.
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
