/** A random number below a limit. */
export type Dice = (below: number) => number;

/** The same seed throws the same numbers, everywhere (mulberry32). */
export function diceFrom(seed: number): Dice {
  let state = seed >>> 0;
  return (below) => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) % Math.max(1, below);
  };
}

export interface Spoiled {
  /** What was done to it, in order. */
  steps: string[];
  output: Buffer;
}

type Step = (lines: Buffer[], dice: Dice) => Buffer[];

const kinds = Object.entries<Step>({
  cut,
  reorder,
  duplicate,
  drop,
  flip,
  stranger,
  longLine,
  badBytes,
  join,
  crlf
});

/** A recorded output with one to three things wrong with it. */
export function spoil(stdout: string, dice: Dice): Spoiled {
  let lines: Buffer[] = stdout.split('\n').map((line) => Buffer.from(line));
  const steps: string[] = [];
  for (let left = 1 + dice(3); left > 0; left -= 1) {
    const [name, step] = pick(kinds, dice) ?? ['', cut];
    steps.push(name);
    lines = step(lines.length > 0 ? lines : [Buffer.alloc(0)], dice);
  }
  return { steps, output: linesTogether(lines) };
}

/** The output ends anywhere, also amid a character. */
function cut(lines: Buffer[], dice: Dice): Buffer[] {
  const whole = linesTogether(lines);
  return [whole.subarray(0, dice(whole.length + 1))];
}

function reorder(lines: Buffer[], dice: Dice): Buffer[] {
  const moved = [...lines];
  const [line] = moved.splice(dice(moved.length), 1);
  if (line) moved.splice(dice(moved.length + 1), 0, line);
  return moved;
}

function duplicate(lines: Buffer[], dice: Dice): Buffer[] {
  return lines.toSpliced(dice(lines.length + 1), 0, choose(lines, dice));
}

function drop(lines: Buffer[], dice: Dice): Buffer[] {
  return lines.toSpliced(dice(lines.length), 1);
}

/** One value of one event is another one, of any type, or gone. */
function flip(lines: Buffer[], dice: Dice): Buffer[] {
  const at = dice(lines.length);
  let event: unknown;
  try {
    event = JSON.parse(String(lines[at]));
  } catch {
    return lines;
  }
  flipWithin(event, dice);
  return lines.with(at, Buffer.from(JSON.stringify(event)));
}

function flipWithin(value: unknown, dice: Dice): void {
  if (typeof value !== 'object' || value === null) return;
  const name = pick(Object.keys(value), dice);
  if (name === undefined) return;
  const inner: unknown = Reflect.get(value, name);
  const isDeep = typeof inner === 'object' && inner !== null;
  if (isDeep && dice(3) > 0) flipWithin(inner, dice);
  else if (dice(6) === 0) Reflect.deleteProperty(value, name);
  else Reflect.set(value, name, pick(values, dice));
}

const values = [
  ...[null, true, false, 0, 1, -1, 1e308, '', ' ', 'x', 'error', 'success'],
  ...[[], [null], [[]], {}, { type: 'result' }, '\u0000\u001b[2J', '\ud800']
];

/** An event that no version has sent yet, or no event at all. */
function stranger(lines: Buffer[], dice: Dice): Buffer[] {
  const line = pick(strangers, dice) ?? '';
  return lines.toSpliced(dice(lines.length + 1), 0, Buffer.from(line));
}

const strangers = [
  ...['null', 'true', '0', '"text"', '[]', '{}', '[{"type":"result"}]', '{'],
  ...['{"type":null}', '{"type":"unknown","text":"x"}', '{"type":{"a":1}}'],
  ...['{"type":"assistant"}', '{"type":"assistant","message":{"content":7}}'],
  ...['{"type":"item.completed"}', '{"type":"item.completed","item":[]}'],
  ...['{"type":"item.completed","item":{"type":"agent_message","text":[]}}'],
  ...['{"type":"error"}', '{"type":"error","message":{}}', '{"data":{}}'],
  ...['{"__proto__":{"finished":true,"text":"x"}}', '{"constructor":1}'],
  ...['Warning: something', '\u001b[31mred\u001b[0m', ' \t ', '}', '\u2028']
];

/** A line of more than a megabyte, an event or not. */
function longLine(lines: Buffer[], dice: Dice): Buffer[] {
  // Rare, for they take their time.
  const length = dice(20) === 0 ? 1_100_000 : 20_000;
  const text = 'é'.repeat(length / 2);
  const line = dice(2) ? JSON.stringify({ type: 'assistant', text }) : text;
  return lines.toSpliced(dice(lines.length + 1), 0, Buffer.from(line));
}

function badBytes(lines: Buffer[], dice: Dice): Buffer[] {
  const at = dice(lines.length);
  const line = Buffer.from(lines[at] ?? '');
  for (let left = 1 + dice(3); left > 0 && line.length > 0; left -= 1)
    line[dice(line.length)] = pick([0xff, 0xc3, 0x80, 0, 0xed], dice) ?? 0;
  return lines.with(at, line);
}

/** Two events run together, as when a newline is lost. */
function join(lines: Buffer[], dice: Dice): Buffer[] {
  const at = dice(lines.length);
  const both = Buffer.concat(lines.slice(at, at + 2));
  return lines.toSpliced(at, 2, both);
}

function crlf(lines: Buffer[]): Buffer[] {
  return lines.map((line) => Buffer.concat([line, Buffer.from('\r')]));
}

function linesTogether(lines: Buffer[]): Buffer {
  const newline = Buffer.from('\n');
  return Buffer.concat(
    lines.flatMap((line, index) => (index === 0 ? [line] : [newline, line]))
  );
}

function choose(lines: Buffer[], dice: Dice): Buffer {
  return pick(lines, dice) ?? Buffer.alloc(0);
}

export function pick<T>(values: readonly T[], dice: Dice): T | undefined {
  return values[dice(values.length)];
}
