import { isPlaceholder } from '../engines/placeholder.ts';
import { writtenForms } from './secret-forms.ts';
import { type Span, shapedSecrets } from './secret-shapes.ts';

const mask = '[redacted]';
const shortestSecret = 8;

/** How far from a cut a secret may begin and still be known by its shape. */
export const longestSecret = 9000;

/**
 * Takes secrets out of a text, or of a part of it: a secret that reaches into
 * the part is masked though most of it lies outside.
 */
export type Redact = (text: string, from?: number, to?: number) => string;

/**
 * A redactor for every value the host knows to be a key at that moment, and
 * for common token shapes, also where a text has escapes written out. Best
 * effort: a secret in base64, in another encoding or in pieces passes, and
 * SECURITY.md says so.
 */
export function createRedactor(secrets: string[] | (() => string[])): Redact {
  return (text, from = 0, to = text.length) => {
    const all = typeof secrets === 'function' ? secrets() : secrets;
    const known = [...new Set(all)].filter(
      (secret) => secret.length >= shortestSecret
    );
    let clean = '';
    let position = from;
    for (const [start, end] of secretSpans(text, known)) {
      if (end <= from || start >= to) continue;
      clean += text.slice(position, Math.max(position, start)) + mask;
      position = end;
    }
    return clean + text.slice(position, Math.max(position, to));
  };
}

/** Values in an environment whose names say that they are secret. */
export function secretsIn(
  environment: Record<string, string | undefined>
): string[] {
  const secretName =
    /(API_?KEY|ACCESS_?KEY|TOKEN|SECRET|PASSWORD|CREDENTIALS?)$/i;
  return Object.entries(environment).flatMap(([name, value]) =>
    value && secretName.test(name) && !isPlaceholder(value) ? [value] : []
  );
}

/** Values of variables in `passEnv` whose names suggest a key. */
export function passedSecrets(
  names: string[],
  environment: Record<string, string | undefined>
): string[] {
  const mayBeSecret = /KEY|TOKEN|SECRET|PASS|CREDENTIAL|AUTH|BEARER/i;
  return names.flatMap((name) => {
    const value = environment[name];
    return value && mayBeSecret.test(name) && !isPlaceholder(value)
      ? [value]
      : [];
  });
}

/** Where the secrets stand, in order; those that overlap count as one. */
function secretSpans(text: string, known: string[]): Span[] {
  const spans = [
    ...known.flatMap((secret) => spansOf(secret, text)),
    ...shapedSecrets(text)
  ].sort(([a], [b]) => a - b);
  const merged: Span[] = [];
  for (const span of spans) {
    const last = merged.at(-1);
    if (last && span[0] < last[1]) last[1] = Math.max(last[1], span[1]);
    else merged.push(span);
  }
  return merged;
}

function spansOf(secret: string, text: string): Span[] {
  const spans: Span[] = [];
  const forms = writtenForms(secret);
  if (forms) {
    forms.lastIndex = 0;
    for (let found = forms.exec(text); found; found = forms.exec(text)) {
      spans.push([found.index, found.index + found[0].length]);
      forms.lastIndex = found.index + 1;
    }
    return spans;
  }
  let at = text.indexOf(secret);
  for (; at >= 0; at = text.indexOf(secret, at + 1))
    spans.push([at, at + secret.length]);
  return spans;
}
