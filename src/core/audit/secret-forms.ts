/** Characters that are never escaped. */
const plain = /^[A-Za-z0-9_.~-]*$/;

/** Compiled once each; a host knows a few dozen. */
const compiled = new Map<string, RegExp>();
const mostCompiled = 1000;

/**
 * Finds a known secret as it is and as JSON, addresses and program text write
 * it: each character by itself or by an escape. Undefined where all its
 * characters only stand for themselves.
 */
export function writtenForms(secret: string): RegExp | undefined {
  if (plain.test(secret)) return undefined;
  const known = compiled.get(secret);
  if (known) return known;
  const forms = new RegExp(
    (secret.match(/\\+|[^\\]/gsu) ?? []).map(formsOf).join(''),
    'g'
  );
  if (compiled.size >= mostCompiled) compiled.clear();
  compiled.set(secret, forms);
  return forms;
}

/** @param character one, or a row of backslashes */
function formsOf(character: string): string {
  if (plain.test(character)) return literal(character);
  const { length } = character;
  // As one, since each may be doubled: no two ways to read the same text.
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
    // "\/" in JSON, "\$" in a shell; quotes of JSON in JSON.
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
