import { isPlaceholder } from '../engines/placeholder.ts';

/** Shapes of common tokens. Each is specific enough not to eat prose. */
const shapes = [
  /\bsk-(?:ant-|proj-|or-)?[A-Za-z0-9_-]{20,}/g,
  /\bxai-[A-Za-z0-9]{20,}/g,
  /\bAIza[A-Za-z0-9_-]{30,}/g,
  /\bgh[pousr]_[A-Za-z0-9]{30,}/g,
  /\bgithub_pat_[A-Za-z0-9_]{40,}/g,
  /\bglpat-[A-Za-z0-9_-]{20,}/g,
  /\bxox[abeoprs]-[A-Za-z0-9-]{10,}/g,
  /\bnpm_[A-Za-z0-9]{30,}/g,
  /\b(?:AKIA|ASIA)[A-Z0-9]{16}\b/g,
  /\bhf_[A-Za-z0-9]{30,}/g,
  /\bgsk_[A-Za-z0-9]{40,}/g,
  /\b[sr]k_(?:live|test)_[A-Za-z0-9]{16,}/g,
  /\bya29\.[\w-]{30,}/g,
  /\bxapp-\d-[A-Z0-9]{8,}-\d{8,}-[a-f0-9]{32,}/g,
  /\bSG\.[\w-]{16,32}\.[\w-]{32,64}/g,
  /\bpypi-[\w-]{50,}/g,
  /\bdo[opr]_v1_[a-f0-9]{40,}/g,
  // Long, and with a digit: no word of prose is either.
  /(?<=\bbearer[ \t]{1,4})(?=[A-Za-z._~+/-]{0,200}\d)[\w.~+/-]{24,}={0,2}/gi,
  // The password of an address alone: where it leads may be read.
  /(?<=\b[a-z][a-z0-9+.-]{1,20}:\/\/[^\s:/?#@"'<>]{0,200}:)[^\s/?#@"'<>]{1,500}(?=@[\w[])/gi,
  // No \b here: after a dash it would scan the same text again and again.
  /(?<![\w-])eyJ[\w-]{10,}\.eyJ[\w-]{10,}\.[\w-]{10,}/g,
  // A key whose end is missing counts as far as it looks like one.
  /-----BEGIN [A-Z ]{0,40}PRIVATE KEY-----(?:[\s\S]{0,8192}?-----END [A-Z ]{0,40}PRIVATE KEY-----|[\w+/=\\\s]*)/g
];

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
 * for common token shapes. Best effort: an encoded or split secret passes, and
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

type Span = [start: number, end: number];

/** Where the secrets stand, in order; those that overlap count as one. */
function secretSpans(text: string, known: string[]): Span[] {
  const spans = [
    ...known.flatMap((secret) => spansOf(secret, text)),
    ...shapes.flatMap((shape) =>
      [...text.matchAll(shape)].map(
        (match): Span => [match.index, match.index + match[0].length]
      )
    )
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
  let at = text.indexOf(secret);
  for (; at >= 0; at = text.indexOf(secret, at + 1))
    spans.push([at, at + secret.length]);
  return spans;
}
