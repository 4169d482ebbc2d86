import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createRedactor, passedSecrets, secretsIn } from './redact.ts';

const none = createRedactor([]);

test.each([
  ['sk-ant-api03-abcdefghijklmnopqrstuvwx_yz-AA'],
  ['sk-proj-abcdefghijklmnopqrstuvwx'],
  ['sk-abcdefghijklmnopqrstuvwxyz012345'],
  ['xai-abcdefghijklmnopqrstuvwxyz'],
  ['AIzaSyA-abcdefghijklmnopqrstuvwxyz01234'],
  ['ghp_abcdefghijklmnopqrstuvwxyz0123456789'],
  ['gho_abcdefghijklmnopqrstuvwxyz0123456789'],
  [`github_pat_${'a1_'.repeat(20)}`],
  ['glpat-abcdefghijklmnopqrst'],
  ['xoxb-1234567890-abcdef'],
  [`npm_${'a1'.repeat(18)}`],
  ['AKIAIOSFODNN7EXAMPLE'],
  [`hf_${'aB3'.repeat(11)}a`],
  [`gsk_${'aB3x'.repeat(13)}`],
  [`sk_live_${'aB3x'.repeat(6)}`],
  [`rk_live_${'aB3x'.repeat(6)}`],
  [`ya29.a0${'aB-3_'.repeat(20)}`],
  [`xapp-1-A0123456789-1234567890123-${'ab12'.repeat(16)}`],
  [`SG.${'aB-3_x'.repeat(3)}abcd.${'aB-3_x'.repeat(7)}a`],
  [`pypi-AgEIcHlwaS5vcmc${'aB-3_'.repeat(20)}`],
  [`dop_v1_${'0a1b'.repeat(16)}`],
  [
    'eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9P'
  ],
  [
    '-----BEGIN RSA PRIVATE KEY-----\nMIIEpAIBAAKC\nAQ==\n-----END RSA PRIVATE KEY-----'
  ]
])('the token shape %s is masked', (token) => {
  expect(none(`before "${token}" after`)).toBe('before "[redacted]" after');
});

test.each([
  ['the ask-me-anything-about-everything-in-here page'],
  ['sk-learn is a library, sk-short'],
  ['eyJ alone, AKIA too, ghp_short, npm_config_registry'],
  ['-----BEGIN CERTIFICATE-----\nMIIE\n-----END CERTIFICATE-----'],
  ['hf_hub_download of the hf_transfer package, gsk_short'],
  ['hf_model_for_the_evaluation_of_everything_that_we_have'],
  ['sk_live_ and rk_live_key_name, a risk_live_streaming_of_everything'],
  ['ya29. and ya29.short; SG.First.Second and SG.md'],
  ['xapp-1 is one, xapp-name-of-something-very-long-in-here another'],
  ['pypi-publish, pypi-server-of-the-whole-company'],
  ['dop_v1_ and do_v1_something'],
  ['Bearer token, bearer authentication-with-a-very-long-word-in-it'],
  ['Authorization: Bearer <token>, Bearer $TOKEN, bearer of 12 news'],
  ['see https://example.org:8080/a@b and http://[::1]:80/x:y@z'],
  ['git@github.com:owner/project.git, ssh://git@host:22/path'],
  ['https://user@host/a, mailto:a@b.c, note: see a:b@c'],
  ['commit 3b5ab0d85f93935a1ef8c41eeee27670aabbccdd']
])('prose is left unchanged: %s', (prose) => {
  expect(none(prose)).toBe(prose);
});

test.each([
  [
    'Authorization: Bearer aB3.xY_z-12345678901234567890==',
    'Authorization: Bearer [redacted]'
  ],
  [`bearer\t${'0123456789abcdef'.repeat(2)}`, 'bearer\t[redacted]'],
  ['https://user:hunter2@host.org/x', 'https://user:[redacted]@host.org/x'],
  [
    '"postgres://me:p%40ss@[::1]:5432/db"',
    '"postgres://me:[redacted]@[::1]:5432/db"'
  ],
  ['https://:x:y@host and more', 'https://:[redacted]@host and more']
])('only the secret of %s is masked', (text, clean) => {
  expect(none(text)).toBe(clean);
});

test('a private key without an end is masked as far as it looks like a key', () => {
  const key = `-----BEGIN PRIVATE KEY-----\n${'QUJDREVGR0g=\n'.repeat(50)}`;
  expect(none(`a ${key}`)).toBe('a [redacted]');
});

test('known values are masked everywhere, except short ones', () => {
  const redact = createRedactor(['hunter2-hunter2', 'short', '']);
  expect(redact('hunter2-hunter2,hunter2-hunter2 short')).toBe(
    '[redacted],[redacted] short'
  );
});

test('a backslash before a known value is no part of it', () => {
  const redact = createRedactor(['hunter2-hunter2']);
  expect(redact('C:\\hunter2-hunter2\\x')).toBe('C:\\[redacted]\\x');
});

test('known values may look like patterns of any kind', () => {
  const redact = createRedactor(['a.*+?^$&{}()|[\\]', "$1$&$`$'$$"]);
  expect(redact("x a.*+?^$&{}()|[\\] $1$&$`$'$$ y")).toBe(
    'x [redacted] [redacted] y'
  );
});

test('overlapping and nested secrets leave no remainder', () => {
  const redact = createRedactor(['abcdefgh', 'efghijkl', 'abcdefghijklmnop']);
  expect(redact('<abcdefghijkl>')).toBe('<[redacted]>');
  expect(redact('<abcdefghijklmnop>')).toBe('<[redacted]>');
  expect(createRedactor(['aaaaaaaa'])('a'.repeat(11))).toBe('[redacted]');
  expect(createRedactor(['key-12345678'])('sk-key-12345678abcdefghijkl')).toBe(
    '[redacted]'
  );
});

test('a part of a text contains no piece of a secret that overlaps it', () => {
  const secret = 'abcdefghijklmnop';
  const redact = createRedactor([secret]);
  fc.assert(
    fc.property(
      fc.string({ unit: fc.constantFrom('.', '-'), maxLength: 20 }),
      fc.string({ unit: fc.constantFrom('.', '-'), maxLength: 20 }),
      fc.nat(60),
      fc.nat(60),
      (before, after, from, length) => {
        const part = redact(before + secret + after, from, from + length);
        expect(part.replace('[redacted]', '')).toMatch(/^[.-]*$/);
      }
    )
  );
  expect(redact('a,b,c', 2, 3)).toBe('b');
});

test('text without secrets is left unchanged, whatever its content', () => {
  const redact = createRedactor(['a-secret-value']);
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), (text) => {
      expect(redact(text)).toBe(text);
    })
  );
});

const slow = [
  'bearer ',
  'bearer a/',
  'a://',
  'a://b:',
  'ab:',
  'hf_a',
  'SG.aaaaaaaaaaaaaaaaa.'
];

test('hostile text takes no longer than other text', () => {
  const began = performance.now();
  for (const piece of [
    'eyJ-',
    '-----BEGIN PRIVATE KEY-----',
    'sk-',
    'eyJa.',
    ...slow
  ])
    none(piece.repeat(1_000_000 / piece.length));
  expect(performance.now() - began).toBeLessThan(8000);
});

test('secrets in the environment are recognized by name', () => {
  const environment = {
    OPENAI_API_KEY: 'one',
    GITHUB_TOKEN: 'two',
    DB_PASSWORD: 'three',
    AWS_SECRET: 'four',
    GOOGLE_APPLICATION_CREDENTIALS: 'five',
    EMPTY_TOKEN: '',
    PATH: '/bin',
    TOKENIZERS: 'no'
  };
  expect(secretsIn(environment)).toEqual([
    'one',
    'two',
    'three',
    'four',
    'five'
  ]);
});

test('a variable in passEnv is a secret when its name suggests a key', () => {
  const environment = {
    GATEWAY_KEY: 'one',
    X_AUTH: 'two',
    REGION: 'no',
    OTHER_KEY: 'no',
    EMPTY_KEY: ''
  };
  const names = ['GATEWAY_KEY', 'X_AUTH', 'REGION', 'EMPTY_KEY', 'MISSING_KEY'];
  expect(passedSecrets(names, environment)).toEqual(['one', 'two']);
});
