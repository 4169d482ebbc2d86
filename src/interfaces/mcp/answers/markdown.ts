/**
 * Renders a whole answer as Markdown. Text of agents is quoted line by line and
 * names stay on one line, so that neither can imitate the structure around it.
 */
export function markdownOf(facts: Record<string, unknown>): string {
  const plain = Object.entries(facts).filter(([, value]) => !isNested(value));
  const nested = Object.entries(facts).filter(([, value]) => isNested(value));
  return [
    plain.map(([key, value]) => `- ${key}: ${inLine(value)}`).join('\n'),
    ...nested.map(([key, value]) => section(key, value))
  ]
    .filter((part) => part !== '')
    .join('\n\n');
}

function section(key: string, value: unknown): string {
  if (!Array.isArray(value)) return `## ${key}: ${entry(value)}`;
  if (value.length === 0) return `## ${key}: none`;
  const isLong = value.some((one) => 'content' in fieldsOf(one));
  const entries = value.map((one) => (isLong ? '### ' : '- ') + entry(one));
  return [
    `## ${key}: ${value.length}`,
    entries.join(isLong ? '\n\n' : '\n')
  ].join('\n\n');
}

function entry(value: unknown): string {
  const { content, ...rest } = fieldsOf(value);
  const line = Object.entries(rest)
    .map(([key, inner]) => `${key}: ${inLine(inner)}`)
    .join(' · ');
  if (typeof content !== 'string') return line;
  return `${line}\n\n${quoted(content)}`;
}

/** Each line of a text behind `> `, so that it cannot imitate what is around. */
export function quoted(text: string): string {
  return text
    .split(/\r\n|[\n\r\v\f\u0085\u2028\u2029]/)
    .map((line) => `> ${line}`)
    .join('\n');
}

export function isNested(value: unknown): boolean {
  return typeof value === 'object' && value !== null;
}

export function fieldsOf(value: unknown): Record<string, unknown> {
  return isNested(value)
    ? Object.fromEntries(Object.entries(Object(value)))
    : {};
}

/** A value as one line. */
export function inLine(value: unknown): string {
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  return text.replaceAll(breaking, (found) =>
    found === '\n'
      ? '\\n'
      : `\\u${found.charCodeAt(0).toString(16).padStart(4, '0')}`
  );
}

/** Characters that end a line or a fact, or change the text direction. */
const breaking =
  /[·\u0000-\u001f\u007f-\u009f\u2028\u2029\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;
