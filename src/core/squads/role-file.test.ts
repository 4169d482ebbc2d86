import fc from 'fast-check';
import { expect, test } from 'vitest';
import { loadYaml, parseRole } from './role-file.ts';

const yaml = await loadYaml();

const roleFrom = (text: string, id = 'tester') => parseRole(id, text, yaml);

/** A role with this head. */
const withHead = (head: string) => roleFrom(`---\n${head}\n---\nTest it.\n`);

function problemOf(text: string, id?: string): string {
  try {
    roleFrom(text, id);
  } catch (error) {
    return error instanceof Error ? error.message : 'no error';
  }
  return 'no problem';
}

test('a head has name and description, and the rest is the body', () => {
  const text = [
    '---',
    'name: Tester',
    'description: Tests what others built.',
    'model: sonnet',
    'engine: codex',
    'access: read',
    'tools: Read, Grep',
    'color: red',
    'priority: [1, {a: b}]',
    '---',
    '',
    'You test.',
    '',
    '## How',
    ''
  ].join('\n');
  expect(roleFrom(text)).toEqual({
    id: 'tester',
    name: 'Tester',
    description: 'Tests what others built.',
    model: 'sonnet',
    engine: 'codex',
    access: 'read',
    body: 'You test.\n\n## How'
  });
});

test.each([
  ['no head', 'You test.\n'],
  ['an empty head', '---\n---\nYou test.\n'],
  ['a head of blank lines', '---\n\n  \n---\nYou test.\n'],
  ['a head of comments', '---\n# later\n---\nYou test.\n'],
  ['a head with no key of ours', '---\ncolor: red\n---\nYou test.\n'],
  [
    'keys without values',
    '---\nname:\ndescription: ""\nmodel: ~\nengine: null\naccess:\n---\nYou test.'
  ]
])('with %s, the name is the id and the description empty', (_, text) => {
  expect(roleFrom(text)).toEqual({
    id: 'tester',
    name: 'tester',
    description: '',
    body: 'You test.'
  });
});

test('Windows line ends, a byte order mark and blanks after "---" change nothing', () => {
  const text =
    '\uFEFF---  \r\nname: Tester\r\naccess: write\r\n---\t\r\n\r\nYou test.\r\nTwice.\r\n';
  expect(roleFrom(text)).toEqual({
    id: 'tester',
    name: 'Tester',
    description: '',
    access: 'write',
    body: 'You test.\r\nTwice.'
  });
});

test('lines "---" in the body are kept', () => {
  expect(roleFrom('---\nname: T\n---\nOne.\n\n---\n\nTwo.\n---\n').body).toBe(
    'One.\n\n---\n\nTwo.\n---'
  );
  expect(roleFrom('One.\n---\nname: T\n---\nTwo.').body).toBe(
    'One.\n---\nname: T\n---\nTwo.'
  );
});

test('only a "---" on its own line closes the head', () => {
  const { description, body } = withHead(
    'description: |\n  a\n  ---\n  ---- b\nname: x --- y\nz: "a\u2028---\u2028b"'
  );
  expect(description).toBe('a --- ---- b');
  expect(body).toBe('Test it.');
});

test('a head may end at the end of the file', () => {
  expect(roleFrom('---\nname: T\n---')).toMatchObject({ name: 'T', body: '' });
});

test('numbers, dates and yes are kept as written', () => {
  const head =
    'name: 007\ndescription: 2024-01-31\nmodel: 4.10\nengine: yes\naccess: "read"';
  expect(withHead(head)).toEqual({
    id: 'tester',
    name: '007',
    description: '2024-01-31',
    model: '4.10',
    engine: 'yes',
    access: 'read',
    body: 'Test it.'
  });
  expect(withHead('model: 12345678901234567890')).toMatchObject({
    model: '12345678901234567890'
  });
});

test.each([
  'description: |\n  One line,\n  another,\n\n  and a third.',
  'description: >-\n  One line,\n  another,\n\n  and a third.',
  'description: One line,\n  another,\n\n  and a third.',
  'description: "One line,\\n\\tanother,\\r\\n and a third.  "'
])('a multi-line description becomes one line: %j', (head) => {
  expect(withHead(head).description).toBe('One line, another, and a third.');
});

test('the model "inherit" of other programs means no model', () => {
  expect(withHead('model: inherit')).not.toHaveProperty('model');
});

test.each([
  ['no closing line', '---\nname: x\n\nYou test.', 'no closing line "---"'],
  [
    'a colon too many',
    '---\ntags: x\nname: a: b\n---\n',
    'at line 3, column 7; a text with ": " in it has to be in quotes'
  ],
  ['a tab for indentation', '---\nname:\n\t- x\n---\n', 'Tabs'],
  ['a duplicate key', '---\naccess: read\naccess: full\n---\n', 'uni'],
  ['an open quote', '---\nname: "x\n---\n', 'quote'],
  ['a list', '---\n- name: x\n---\n', 'not a list of keys and values'],
  ['a sentence', '---\nJust words\n---\n', 'not a list of keys and values'],
  ['two documents', '---\nname: x\n...\nname: y\n---\n', 'multiple documents'],
  ['an unknown access', '---\naccess: all\n---\n', 'read, write, full'],
  ['an access in capitals', '---\naccess: Read\n---\n', 'read, write, full'],
  ['a list of access', '---\naccess: [read]\n---\n', '"access" is not text'],
  ['a list for a name', '---\nname: [a, b]\n---\n', '"name" is not text'],
  ['keys for a description', '---\ndescription: {a: b}\n---', '"description"'],
  ['a list for a model', '---\nmodel:\n  - a\n---\n', '"model" is not text'],
  ['bytes for a name', '---\nname: !!binary aGk=\n---\n', '"name" is not text'],
  ['an alias without an anchor', '---\nname: *x\n---\n', 'alias'],
  ['a NUL character', '---\nname: x\n---\nYou\0 test.', 'NUL'],
  ['UTF-16', 'a\0b\0', 'NUL']
])('%s is a fault with a description', (_, text, problem) => {
  expect(problemOf(text)).toContain(problem);
});

test('an id that looks like a flag is a fault', () => {
  expect(problemOf('You test.', '-rf')).toContain('begins with "-"');
});

test('keys named like the prototype have no effect', () => {
  const role = withHead(
    '__proto__: {access: full, model: m}\nconstructor: {name: x}\nname: T'
  );
  expect(role).toEqual({
    id: 'tester',
    name: 'T',
    description: '',
    body: 'Test it.'
  });
});

test('tags produce only text', () => {
  const head =
    'name: !!js/function "() => 1"\ndescription: !!python/object/apply:os.system ls\nmodel: !!int 3';
  expect(withHead(head)).toMatchObject({
    name: '() => 1',
    description: 'ls',
    model: '3'
  });
});

const levels = 'abcdefghi'
  .split('')
  .map((name, index, names) =>
    index === 0
      ? `${name}: &${name} [x,x,x,x,x,x,x,x,x]`
      : `${name}: &${name} [${Array(9).fill(`*${names[index - 1]}`)}]`
  );

test.each([
  ['aliases of aliases', levels.join('\n'), 'alias'],
  ['thousands of nested lists', `name: ${'['.repeat(9000)}`, ''],
  ['thousands of nested items', `name:\n${'- '.repeat(9000)}`, ''],
  ['thousands of nested keys', `a: ${'{a: '.repeat(4000)}`, ''],
  [
    'a million keys',
    Array.from({ length: 1_000_000 }, (_, index) => `k${index}: v`).join('\n'),
    'longer than 20000 characters'
  ]
])('%s are a fault, found at once', (_, head, problem) => {
  const found = problemOf(`---\n${head}\n---\nTest it.`);
  expect(found).not.toBe('no problem');
  expect(found).toContain(problem);
});

test('any file is either a role or a fault with a description', () => {
  const line = fc.oneof(
    fc.constantFrom('---', '--- ', 'name: x', '- a', 'access: read', '\t', ''),
    fc.string({ unit: 'binary', maxLength: 30 })
  );
  fc.assert(
    fc.property(fc.array(line), fc.constantFrom('\n', '\r\n'), (lines, end) => {
      const text = lines.join(end);
      const problem = problemOf(text);
      expect(problem).not.toBe('');
      if (problem !== 'no problem') return;
      const { name, description, body } = roleFrom(text);
      expect(name).not.toBe('');
      expect(`${name}${description}`).not.toContain('\n');
      expect(text).toContain(body);
    })
  );
});
