import { type Fields, record } from './json-fields.ts';

/**
 * A user's settings with a change, as text. Settings may contain comments. Text
 * that cannot be parsed stays unchanged, so that the program reports the error.
 */
export function changedSettings(
  settings: string | undefined,
  change: (settings: Fields) => Fields
): string {
  const known = parsedOrUndefined(settings);
  return known ? JSON.stringify(change(known)) : (settings ?? '');
}

/** A user's settings; empty when the text cannot be parsed. */
export function parsedSettings(settings: string | undefined): Fields {
  return parsedOrUndefined(settings) ?? {};
}

function parsedOrUndefined(settings: string | undefined): Fields | undefined {
  if (!settings?.trim()) return {};
  try {
    return record(JSON.parse(withoutComments(settings)));
  } catch {
    return undefined;
  }
}

function withoutComments(json: string): string {
  return json
    .replace(/^\uFEFF/, '')
    .replace(
      /("(?:[^"\\]|\\.)*")|\/\/[^\r\n]*|\/\*[\s\S]*?\*\//g,
      (_, text?: string) => text ?? ' '
    );
}
