import { describe, expect, test } from 'vitest';
import { visibleText } from '../../text.ts';
import { createRedactor } from './redact.ts';

const none = createRedactor([]);

const tokens: Record<string, string> = {
  Anthropic: 'sk-ant-api03-abcdefghijklmnopqrstuvwx_yz-AA',
  OpenAI: 'sk-proj-abcdefghijklmnopqrstuvwx',
  xAI: 'xai-abcdefghijklmnopqrstuvwxyz',
  Google: 'AIzaSyA-abcdefghijklmnopqrstuvwxyz01234',
  GitHub: 'ghp_abcdefghijklmnopqrstuvwxyz0123456789',
  'GitHub, fine-grained': `github_pat_${'a1_'.repeat(20)}`,
  GitLab: 'glpat-abcdefghijklmnopqrst',
  Slack: 'xoxb-1234567890-abcdef',
  'Slack, app': `xapp-1-A0123456789-1234567890123-${'ab12'.repeat(16)}`,
  npm: `npm_${'a1'.repeat(18)}`,
  AWS: 'AKIAIOSFODNN7EXAMPLE',
  'AWS, temporary': 'ASIAIOSFODNN7EXAMPLE',
  'Hugging Face': `hf_${'aB3'.repeat(11)}a`,
  Groq: `gsk_${'aB3x'.repeat(13)}`,
  Stripe: `sk_live_${'aB3x'.repeat(6)}`,
  'Google, OAuth': `ya29.a0${'aB-3_'.repeat(20)}`,
  SendGrid: `SG.${'aB-3_x'.repeat(3)}abcd.${'aB-3_x'.repeat(7)}a`,
  PyPI: `pypi-AgEIcHlwaS5vcmc${'aB-3_'.repeat(20)}`,
  DigitalOcean: `dop_v1_${'0a1b'.repeat(16)}`,
  JWT: 'eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9P',
  'a private key':
    '-----BEGIN PRIVATE KEY-----\\nMIIEpAIB\\n-----END PRIVATE KEY-----'
};

/** Texts that may precede a token directly. */
const fronts: [string, string][] = [
  ['a newline written out', '\\n'],
  ['a newline written out twice', '\\\\n'],
  ['a tab written out', '\\t'],
  ['a return written out', '\\r\\n'],
  ['a quote of JSON in JSON', '\\"'],
  ['a quote', "'"],
  ['a backquote', '`'],
  ['an equals sign', 'key='],
  ['a colon', 'key:'],
  ['an underscore', 'KEY_'],
  ['a percent escape', 'key%3D'],
  ['a percent escape in lower case', 'key%3d'],
  ['a percent escape of a percent escape', 'key%253D'],
  ['a quote of an address', '%22'],
  ['a blank of an address', '%20'],
  ['an equals sign of JSON', 'key\\u003d'],
  ['a quote of JSON', '\\u0022'],
  ['an escape with braces', '\\u{3d}'],
  ['an escape of C', 'key\\x3d'],
  ['an octal escape', 'key\\075'],
  ['a quote of HTML', '&quot;'],
  ['a number of HTML', '&#61;'],
  ['quoted-printable', 'key=3D'],
  ['a colour', '\u001b[31m'],
  ['a colour of many parts', '\u001b[1;38;5;196m'],
  ['a reset', '\u001b[m'],
  ['an erased line', '\u001b[K'],
  ['a colour of C1', '\u009b31m'],
  ['a colour of JSON', '\\u001b[31m'],
  ['a colour of C', '\\x1b[31m'],
  ['a colour of a shell', '\\033[31m'],
  ['a reset of a shell', '\\e[m'],
  ['a colour of cat -v', '^[[31m']
];

describe.each(Object.entries(tokens))(
  'the token of %s is masked',
  (_, token) => {
    // A word before the token may be masked with it.
    const masked = /^.*\[redacted\]"/s;

    test.each(fronts)('after %s', (_, front) => {
      for (const before of [front, visibleText(front)]) {
        const clean = none(`x ${before}${token}" y`);
        expect(clean).toMatch(masked);
        expect(clean).not.toContain(token.slice(4, 20));
        expect(clean.endsWith('[redacted]" y')).toBe(true);
      }
    });

    test('at both ends of a text, and before an escape', () => {
      expect(none(token)).toBe('[redacted]');
      for (const after of ['\\n', '%22', '\\u0022', '\u001b[0m', '␛[0m'])
        expect(none(`${token}${after}`)).toBe(`[redacted]${after}`);
    });
  }
);

test.each([
  ['\\nBearer aB3.xY_z-12345678901234567890==', '\\nBearer [redacted]'],
  ['%22Bearer%20aB3.xY_z-12345678901234567890', '%22Bearer%20[redacted]'],
  ['Bearer+aB3.xY_z-12345678901234567890', 'Bearer+[redacted]'],
  ['%22https://user:hunter2@host.org', '%22https://user:[redacted]@host.org'],
  ['\\npostgres://me:p4ss@host', '\\npostgres://me:[redacted]@host']
])('only the secret of %s is masked', (text, clean) => {
  expect(none(text)).toBe(clean);
});

test('a private key in a URL and one of PGP are masked', () => {
  for (const key of [
    '-----BEGIN%20RSA%20PRIVATE%20KEY-----%0AMIIE%0A-----END%20RSA%20PRIVATE%20KEY-----',
    '-----BEGIN+PRIVATE+KEY-----%0AMIIE%0A-----END+PRIVATE+KEY-----',
    '-----BEGIN PGP PRIVATE KEY BLOCK-----\nVersion: 1\n\nlQOYBF\n-----END PGP PRIVATE KEY BLOCK-----'
  ])
    expect(none(`a ${key} b`)).toBe('a [redacted] b');
});

test('a whole key after half a key is masked as well', () => {
  const whole = '-----BEGIN PRIVATE KEY-----\nMIIE\n-----END PRIVATE KEY-----';
  const far = '-----BEGIN PRIVATE KEY-----\nMIIE. '.padEnd(9000, 'word ');
  expect(none(`${far}${whole}.`)).not.toContain('MIIE\n');
  expect(none(`${far}${whole}.`)).toMatch(/\[redacted\]\.$/);
});

const secret = 'p@ss "w/ord"\n&<k€y>';

test.each([
  ['as it is', secret],
  ['in JSON', JSON.stringify(secret).slice(1, -1)],
  ['in JSON in JSON', JSON.stringify(JSON.stringify(secret)).slice(3, -3)],
  ['in JSON with slashes escaped', 'p@ss \\"w\\/ord\\"\\n&<k€y>'],
  [
    'in JSON of ASCII',
    'p\\u0040ss \\"w/ord\\"\\n\\u0026\\u003ck\\u20acy\\u003e'
  ],
  ['in an address', encodeURIComponent(secret)],
  ['in an address, in lower case', encodeURIComponent(secret).toLowerCase()],
  [
    'in an address in an address',
    encodeURIComponent(encodeURIComponent(secret))
  ],
  ['in a form', new URLSearchParams({ s: secret }).toString().slice(2)],
  ['in C', 'p\\x40ss \\"w/ord\\"\\n&<k€y>'],
  ['in HTML', 'p@ss &quot;w/ord&quot;\n&amp;&lt;k€y&gt;']
])('a known secret is masked %s', (_, written) => {
  const redact = createRedactor([secret]);
  expect(redact(`before ${written} after`)).toBe('before [redacted] after');
});

test('a known secret with backslashes is masked, doubled or not', () => {
  const path = 'C:\\\\keys\\a b';
  const redact = createRedactor([path]);
  const once = JSON.stringify(path).slice(1, -1);
  for (const written of [path, once, encodeURIComponent(path)])
    expect(redact(`<${written}>`)).toBe('<[redacted]>');
});

test('hostile text takes about as long as other text', () => {
  const redact = createRedactor(['a "known" secret', '\\\\ "of" slashes']);
  const fastest = (piece: string) => {
    // With these words, each format is searched for.
    const text = `${piece.repeat(500_000 / piece.length)} bearer :// .eyJ`;
    const times = [1, 2, 3, 4, 5].map(() => {
      const began = performance.now();
      redact(text);
      return performance.now() - began;
    });
    return Math.min(...times);
  };
  for (const piece of [
    '-----BEGIN PRIVATE KEY-----',
    '-----BEGIN PRIVATE KEY-----\nQUJD\n',
    '-----BEGIN A ',
    '_eyJ',
    '.eyJaaaaaaaaaaa',
    '\\n%3D[31m',
    'a "known" secre',
    '\\'
  ])
    expect(fastest(piece) / fastest('a word '), piece).toBeLessThan(12);
});
