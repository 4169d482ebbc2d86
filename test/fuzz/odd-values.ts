import { pick, type Random } from '../kit/judges/random.ts';

/** A number that JSON has and JavaScript's `JSON.stringify` would not write. */
export class RawJson {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

const words = [
  ...['', ' ', '\n', '\0', 'a\0b', '\u2028', '\ufeff', '\u202e', '한', '😀'],
  ...['__proto__', 'constructor', 'toString', 'hasOwnProperty', 'undefined'],
  ...[
    'null',
    'NaN',
    '-1',
    '--yolo',
    '-',
    '$(id)',
    '`id`',
    '; id',
    '%s',
    '<% %>'
  ],
  ...['../../outside', '/etc/passwd', 'a/../../outside', '~', '.', '..', '\\'],
  ...['00000000', 'ffffffff', 'ABCDEF01', '\ud800', '\udc00x', '\u001b[31m']
];

const numbers = [
  ...[0, -0, 1, -1, 0.5, 1e-9, 2 ** 31, 2 ** 32, 2 ** 53, -(2 ** 53)],
  ...[1e15, 1e308, -1e308, 4_000_000, 604_801, 501]
];

const raw = [
  '1e400',
  '-1e400',
  '1E5',
  '0.1e-7',
  '123456789012345678901234567890'
];

/** A value that hardly anything is meant to be given. */
export function oddValue(random: Random): unknown {
  const makers: (() => unknown)[] = [
    () => pick(random, words),
    () => pick(random, numbers),
    () => new RawJson(pick(random, raw)),
    () => pick(random, [null, true, false, [], {}, [null], [[]], { a: 1 }]),
    () => longText(random),
    () => nested(random),
    () => Array.from({ length: random.between(1, 600) }, (_, n) => n),
    () => prototypeKeys(random)
  ];
  return pick(random, makers)();
}

function longText(random: Random): string {
  const length = pick(random, [65, 201, 501, 4097, 33_000, 100_001]);
  return pick(random, ['x', '한', '\ud83d\ude00', '"', '\\']).repeat(length);
}

/** Deeper than anything that calls itself for each level can go. */
function nested(random: Random): RawJson {
  const depth = pick(random, [10, 200, 3000, 20_000]);
  const [open, close] = pick(random, [
    ['[', ']'],
    ['{"a":', '}']
  ] as const);
  return new RawJson(`${open.repeat(depth)}1${close.repeat(depth)}`);
}

/** As keys of the text; an object literal would set a prototype. */
function prototypeKeys(random: Random): RawJson {
  const key = pick(random, ['__proto__', 'constructor', 'prototype']);
  return new RawJson(`{"${key}":{"polluted":true,"agent_id":"00000000"}}`);
}
