import { expect } from 'vitest';
import { visibleText } from '../../../src/core/text.ts';

type Facts = Record<string, unknown>;

/**
 * The facts of an answer that is text for people, out of what surrounds it;
 * undefined if there is none.
 */
export function factsInText(shown: string): Facts | undefined {
  const start = /^(?:[✓✗…•] [0-9a-f]{8} |status: \w+$)/m.exec(shown)?.index;
  if (start === undefined) return undefined;
  const lines = shown.slice(start).split('\n');
  return /^[✓✗…•]/.test(lines[0] ?? '') ? rowIn(lines) : allIn(lines);
}

/** Expects the text of an answer to have all of its facts. */
export function expectWhole(text: string, data: Facts): void {
  const facts = factsInText(text);
  if (facts) expect(facts).toEqual(sayable(data));
  else expect(JSON.parse(text)).toEqual(data);
}

/** What a text for people can say of an answer: texts have no empty values. */
function sayable(value: unknown): unknown {
  if (typeof value === 'string') return readValue(value);
  if (Array.isArray(value)) return value.map(sayable);
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value)
    .filter(([, inner]) => inner !== null && inner !== '')
    .map(([key, inner]) => [key, sayable(inner)]);
  return Object.fromEntries(entries);
}

function allIn(lines: string[]): Facts {
  const facts: Facts = {};
  while (lines.length > 0) {
    const line = lines.shift() ?? '';
    const [, key = '', count, rest = ''] =
      /^(\w+)(?: \((\d+)\))?:(?: (.*))?$/.exec(line) ?? [];
    if (key === '') {
      if (line === '') continue;
      return facts;
    }
    if (count === undefined)
      facts[key] = rest === 'none' ? [] : readValue(rest);
    else if (rest !== '') facts[key] = rest.split(', ').map(readValue);
    else facts[key] = Array.from({ length: Number(count) }, () => rowIn(lines));
  }
  return facts;
}

/** Takes the lines of one row. */
function rowIn(lines: string[]): Facts {
  const row: Facts = {};
  while (lines[0] === '') lines.shift();
  if (/^[✓✗…•] /.test(lines[0] ?? '')) lines.shift();
  while (/^\w+:$/.test(lines[0] ?? '') && lines[1]?.startsWith('>')) {
    const key = (lines.shift() ?? '').slice(0, -1);
    const words: string[] = [];
    while (lines[0]?.startsWith('> '))
      words.push(lines.shift()?.slice(2) ?? '');
    row[key] = readValue(words.join('\n'));
  }
  if (/^\w+: /.test(lines[0] ?? ''))
    for (const fact of lines.shift()?.split(' · ') ?? []) {
      const end = fact.indexOf(': ');
      row[fact.slice(0, end)] = readValue(fact.slice(end + 2));
    }
  return row;
}

function readValue(text: string): unknown {
  // An id is no number.
  if (/^[0-9a-f]{8}$/.test(text)) return text;
  const raw = text.replaceAll(/\\u([0-9a-f]{4})/g, (_, code: string) =>
    String.fromCharCode(Number.parseInt(code, 16))
  );
  const whole = visibleText(raw).replaceAll(/[\u2028\u2029]/g, '\n');
  try {
    return sayable(JSON.parse(whole));
  } catch {
    return whole;
  }
}
