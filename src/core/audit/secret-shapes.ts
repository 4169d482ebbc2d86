/** Where a secret stands in a text. */
export type Span = [start: number, end: number];

/** What stands for another character when a text is written out. */
const escapes = [
  // Of JSON, shells and C: \n, \033, \x3d, \u003d, \u{3d}.
  String.raw`\\[abefnrtv]`,
  String.raw`\\[0-7]{1,3}`,
  String.raw`\\x[0-9A-Fa-f]{2}`,
  String.raw`\\u[0-9A-Fa-f]{4}`,
  String.raw`\\u\{[0-9A-Fa-f]{1,6}\}`,
  // Of addresses, also written out twice, and of mail.
  '%[0-9A-Fa-f]{2}',
  '%25[0-9A-Fa-f]{2}',
  '=[0-9A-F]{2}',
  // Colours and other sequences, as they are or made visible.
  String.raw`\[[0-9;:]{1,20}[A-Za-z]`,
  String.raw`(?:\u001b|␛|\\e|\^\[|\\033|\\x1[bB]|\\u001[bB])\[[A-Za-z]`,
  String.raw`(?:\u009b|\\u009[bB])[0-9;:]{0,20}[A-Za-z]`
];

/** No letter or digit, or the last one of an escape. */
const boundary = `(?:(?<![A-Za-z0-9])|(?<=${escapes.join('|')}))`;

/**
 * A token that begins with `head` at a boundary. The boundary is looked for
 * after the head was found: that is a hundred times faster.
 */
function token(head: string, rest: string): RegExp {
  return new RegExp(`${head}(?<=${boundary}${head})${rest}`, 'g');
}

const blank = '(?:[ \\t]{1,4}|%20|\\+|\\\\t|\\\\u0020)';

/** Shapes of common tokens. Each is specific enough not to eat prose. */
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
  token('do[opr]_v1_', '[a-f0-9]{40,}'),
  // Long, and with a digit: no word of prose is either.
  new RegExp(
    `(?<=${boundary}bearer${blank})(?=[A-Za-z._~+/-]{0,200}\\d)[\\w.~+/-]{24,}={0,2}`,
    'gi'
  ),
  // The password of an address alone: where it leads may be read.
  /(?<=[a-z][a-z0-9+.-]{1,20}:\/\/[^\s:/?#@"'<>]{0,200}:)[^\s/?#@"'<>]{1,500}(?=@[\w[])/gi,
  // All three parts are looked for first, so that a row of half ones is
  // read once.
  new RegExp(
    `(?:(?<![\\w-])|(?<=${escapes.join('|')}))` +
      '(?=[\\w-]*\\.eyJ[\\w-]{10,}\\.[\\w-]{10,})' +
      '(?:[\\w-]*[_-])?eyJ[\\w-]{10,}\\.eyJ[\\w-]{10,}\\.[\\w-]{10,}',
    'g'
  )
];

/** Where tokens and private keys stand, by their shape; in no order. */
export function shapedSecrets(text: string): Span[] {
  const spans = shapes.flatMap((shape) =>
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
/** From the first line of a key to its last. */
const longestKey = 8192;
/** A key whose end is missing counts as far as it looks like one. */
const keyText = /[\w+/=\\%\s]*/y;

/** One pass over the first and last lines of keys: text made to be slow is not. */
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
