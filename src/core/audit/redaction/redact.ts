import { isPlaceholder } from '../../engines/environment.ts';

const mask = '[redacted]';
const shortestSecret = 8;

/** Characters needed on each side of a cut to recognize a secret across it. */
export const longestSecret = 9000;

/**
 * Masks secrets in a text and returns the part between `from` and `to`. A
 * secret that overlaps the part is masked even if most of it lies outside.
 */
export type Redact = (text: string, from?: number, to?: number) => string;

/**
 * Creates a redactor for the given secrets and for common token formats, plain
 * or escaped. A function is called for each text. Best effort: a secret that is
 * split or in another encoding, such as base64, is not found (see SECURITY.md).
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

/** The values of variables whose names mark them as secret. */
export function secretsIn(environment: Variables): string[] {
  const secretName =
    /(API_?KEY|ACCESS_?KEY|TOKEN|SECRET|PASSWORD|CREDENTIALS?)$/i;
  return valuesOf(Object.keys(environment), environment, secretName);
}

/** The values of `passEnv` variables whose names suggest a key. */
export function passedSecrets(
  names: string[],
  environment: Variables
): string[] {
  const mayBeSecret = /KEY|TOKEN|SECRET|PASS|CREDENTIAL|AUTH|BEARER/i;
  return valuesOf(names, environment, mayBeSecret);
}

type Variables = Record<string, string | undefined>;

function valuesOf(names: string[], from: Variables, like: RegExp): string[] {
  return names.flatMap((name) => {
    const value = from[name];
    return value && like.test(name) && !isPlaceholder(value) ? [value] : [];
  });
}

/** The positions of all secrets in order; overlapping spans are merged. */
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
  const forms = formsOf(secret);
  forms.lastIndex = 0;
  for (let found = forms.exec(text); found; found = forms.exec(text)) {
    spans.push([found.index, found.index + found[0].length]);
    forms.lastIndex = found.index + 1;
  }
  return spans;
}

/** Patterns by secret; a host usually has a few dozen. */
const compiled = new Map<string, RegExp>();
const mostCompiled = 1000;

/**
 * Matches a known secret in plain text, JSON, URLs and source code: each
 * character may be literal or escaped.
 */
function formsOf(secret: string): RegExp {
  const known = compiled.get(secret);
  if (known) return known;
  const characters = secret.match(/\\+|[^\\]/gsu) ?? [];
  const forms = new RegExp(characters.map(characterForms).join(''), 'g');
  if (compiled.size >= mostCompiled) compiled.clear();
  compiled.set(secret, forms);
  return forms;
}

/** @param character one character, or a run of backslashes */
function characterForms(character: string): string {
  if (/^[A-Za-z0-9_.~-]$/.test(character)) return literal(character);
  const { length } = character;
  // One pattern for the whole run avoids ambiguous matches.
  if (character.startsWith('\\'))
    return `(?:\\\\{${length},${4 * length}}|(?:%(?:25)?5[cC]|\\\\u005[cC]|\\\\x5[cC]){${length}})`;
  const units = [...Array(length).keys()].map((index) =>
    character.charCodeAt(index).toString(16).padStart(4, '0')
  );
  const [unit = ''] = units;
  const bytes = [...Buffer.from(character)].map((byte) =>
    byte.toString(16).padStart(2, '0')
  );
  const forms = [
    literal(character),
    // "\/" in JSON, "\$" in a shell, and quotes in nested JSON.
    `\\\\{1,3}${literal(character)}`,
    units.map((one) => `\\\\u${anyCase(one)}`).join(''),
    bytes.map((one) => `%(?:25)?${anyCase(one)}`).join(''),
    ...(unit.startsWith('00') ? [`\\\\x${anyCase(unit.slice(2))}`] : []),
    ...(shorthands[character] ?? [])
  ];
  return `(?:${forms.join('|')})`;
}

const shorthands: Record<string, string[]> = {
  '\n': ['\\r\\n', '(?:\\\\{1,3}r)?\\\\{1,3}n', '(?:%0[dD])?%0[aA]'],
  '\r': ['\\\\{1,3}r'],
  '\t': ['\\\\{1,3}t'],
  ' ': ['\\+'],
  '"': ['&quot;', '&#34;'],
  "'": ['&#39;', '&apos;'],
  '&': ['&amp;'],
  '<': ['&lt;'],
  '>': ['&gt;']
};

function literal(character: string): string {
  return character.replace(/[\\^$.*+?()[\]{}|/-]/g, '\\$&');
}

function anyCase(hex: string): string {
  return hex.replace(/[a-f]/g, (one) => `[${one}${one.toUpperCase()}]`);
}

/** The start and end of a secret in a text. */
type Span = [start: number, end: number];

/** Escape sequences, after which a token may start. */
const escapes = [
  // In JSON, shells and C: \n, \033, \x3d, \u003d, \u{3d}.
  String.raw`\\[abefnrtv]`,
  String.raw`\\[0-7]{1,3}`,
  String.raw`\\x[0-9A-Fa-f]{2}`,
  String.raw`\\u[0-9A-Fa-f]{4}`,
  String.raw`\\u\{[0-9A-Fa-f]{1,6}\}`,
  // In URLs, encoded once or twice, and in quoted-printable.
  '%[0-9A-Fa-f]{2}',
  '%25[0-9A-Fa-f]{2}',
  '=[0-9A-F]{2}',
  // Terminal sequences, raw or made visible.
  String.raw`\[[0-9;:]{1,20}[A-Za-z]`,
  String.raw`(?:\u001b|␛|\\e|\^\[|\\033|\\x1[bB]|\\u001[bB])\[[A-Za-z]`,
  String.raw`(?:\u009b|\\u009[bB])[0-9;:]{0,20}[A-Za-z]`
];

/** Not after a letter or digit, unless that ends an escape sequence. */
const boundary = `(?:(?<![A-Za-z0-9])|(?<=${escapes.join('|')}))`;

/**
 * Matches a token that begins with `head` at a boundary. Matching the head
 * first is about a hundred times faster.
 */
function token(head: string, rest: string): RegExp {
  return new RegExp(`${head}(?<=${boundary}${head})${rest}`, 'g');
}

const blank = '(?:[ \\t]{1,4}|%20|\\+|\\\\t|\\\\u0020)';

/** Formats of common tokens, specific enough not to match prose. */
const shapes = [
  token('sk-', '[A-Za-z0-9_-]{20,}'),
  token('xai-', '[A-Za-z0-9]{20,}'),
  token('AIza', '[A-Za-z0-9_-]{30,}'),
  token('gh[pousr]_', '[A-Za-z0-9]{30,}'),
  token('github_pat_', '[A-Za-z0-9_]{40,}'),
  token('glpat-', '[A-Za-z0-9_-]{20,}'),
  token('xox[abeoprs]-', '[A-Za-z0-9-]{10,}'),
  token('npm_', '[A-Za-z0-9]{30,}'),
  token('A[KS]IA', '[A-Z0-9]{16}(?![A-Za-z0-9])'),
  token('hf_', '[A-Za-z0-9]{30,}'),
  token('gsk_', '[A-Za-z0-9]{40,}'),
  token('[sr]k_', '(?:live|test)_[A-Za-z0-9]{16,}'),
  token('ya29\\.', '[\\w-]{30,}'),
  token('xapp-', '\\d-[A-Z0-9]{8,}-\\d{8,}-[a-f0-9]{32,}'),
  token('SG\\.', '[\\w-]{16,32}\\.[\\w-]{32,64}'),
  token('pypi-', '[\\w-]{50,}'),
  token('do[opr]_v1_', '[a-f0-9]{40,}')
];

/** Formats without a fixed beginning, each after a hint that each match has. */
const hintedShapes: [hint: RegExp, shape: RegExp][] = [
  // Requires length and a digit, so that no word of prose matches.
  [
    /bearer/i,
    new RegExp(
      `(?<=${boundary}bearer${blank})(?=[A-Za-z._~+/-]{0,200}\\d)[\\w.~+/-]{24,}={0,2}`,
      'gi'
    )
  ],
  // Masks only the password of a URL; the host stays readable.
  [
    /:\/\//,
    /(?<=[a-z][a-z0-9+.-]{1,20}:\/\/[^\s:/?#@"'<>]{0,200}:)[^\s/?#@"'<>]{1,500}(?=@[\w[])/gi
  ],
  // The lookahead for all three parts keeps incomplete JWTs cheap.
  [
    /\.eyJ/,
    new RegExp(
      `(?:(?<![\\w-])|(?<=${escapes.join('|')}))` +
        '(?=[\\w-]*\\.eyJ[\\w-]{10,}\\.[\\w-]{10,})' +
        '(?:[\\w-]*[_-])?eyJ[\\w-]{10,}\\.eyJ[\\w-]{10,}\\.[\\w-]{10,}',
      'g'
    )
  ]
];

/** The positions of tokens and private keys, unordered. */
function shapedSecrets(text: string): Span[] {
  // These searches take the longest, and few texts have a hint.
  const hinted = hintedShapes.filter(([hint]) => hint.test(text));
  const wanted = [...shapes, ...hinted.map(([, shape]) => shape)];
  const spans = wanted.flatMap((shape) =>
    [...text.matchAll(shape)].map(
      (match): Span => [match.index, match.index + match[0].length]
    )
  );
  return [...spans, ...privateKeys(text)];
}

const space = '(?: |%20|\\+)';
const fence = new RegExp(
  `-----(BEGIN|END)(?:[A-Z ]|%20|\\+){0,40}PRIVATE${space}KEY(?:${space}BLOCK)?-----`,
  'g'
);
/** The maximum length between the first and the last line of a key. */
const longestKey = 8192;
/** Without a last line, this much text after the first one is masked. */
const keyText = /[\w+/=\\%\s]*/y;

/** A single pass over first and last lines, so hostile text stays cheap. */
function privateKeys(text: string): Span[] {
  const fences = [...text.matchAll(fence)];
  const spans: Span[] = [];
  let last = 0;
  for (const [at, { index, 0: line, 1: kind }] of fences.entries()) {
    if (kind !== 'BEGIN' || index < (spans.at(-1)?.[1] ?? 0)) continue;
    const body = index + line.length;
    last = Math.max(last, at);
    while (fences[last] && fences[last]?.[1] !== 'END') last += 1;
    const end = fences[last];
    if (end && end.index - body <= longestKey)
      spans.push([index, end.index + end[0].length]);
    else {
      keyText.lastIndex = body;
      const rest = keyText.exec(text)?.[0] ?? '';
      spans.push([index, body + rest.length]);
    }
  }
  return spans;
}
