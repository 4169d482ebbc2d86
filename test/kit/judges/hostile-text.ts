import fc from 'fast-check';

/** What means something to shells, templates, programs or replacements. */
const pieces = [
  ...['"', "'", '`', '\\', '\\\\', '\\"', '\\n', '$', '$HOME', '${X}', '$(id)'],
  ...['$1', '$&', "$'", '`id`', ';', '|', '||', '&', '&&', '>', '<', '<(x)'],
  ...['#', '# x', '*', '?', '~', '{a,b}', '[x]', '!', '!!', '(', ')', '^', '%'],
  ...['<%', '%>', '<%= prompt %>', '<%- x %>', '<%~ x %>', '<%# x %>', '-%>'],
  ...[
    '&#34;',
    '&quot;',
    '&lt;',
    '\\0',
    '\\x00',
    '0',
    '1',
    '-',
    '--',
    '--force'
  ],
  ...[
    ' ',
    '  ',
    '\t',
    '\n',
    '\r',
    '\r\n',
    '\n\n',
    '\u000b',
    '\u0001',
    '\u001b'
  ],
  ...['\u007f', '\u00a0', '\u2028', '\u2029', '\ufeff', '\ufffd', '\ue000'],
  ...[
    '\uf8ff',
    '\u{f0000}',
    '\u202e',
    'é',
    'e\u0301',
    '日本',
    '😀',
    '👩‍👩‍👧',
    'x'
  ]
];

/** Text that a program may be given, and that breaks what is careless. */
export const hostileText = fc
  .oneof(
    { weight: 3, arbitrary: joined(fc.constantFrom(...pieces)) },
    { weight: 1, arbitrary: joined(fc.string({ unit: 'grapheme' })) },
    { weight: 1, arbitrary: fc.string({ unit: 'binary', maxLength: 200 }) }
  )
  .filter(isArgument);

/** The same, of up to so many bytes: longer than the buffers on its way. */
export const longHostileText = (bytes: number) =>
  fc
    .tuple(hostileText, fc.integer({ min: bytes >> 1, max: bytes }))
    .map(([text, length]) => {
      const whole = Buffer.alloc(length, `${text} `);
      return whole.toString();
    })
    // The last character may have been cut.
    .map((text) => text.replace(/\ufffd+$/, ''));

function joined(piece: fc.Arbitrary<string>): fc.Arbitrary<string> {
  return fc.array(piece, { maxLength: 20 }).map((parts) => parts.join(''));
}

/** What a program can be given as an argument, byte for byte. */
function isArgument(text: string): boolean {
  return Buffer.from(text).toString() === text && !text.includes('\0');
}
