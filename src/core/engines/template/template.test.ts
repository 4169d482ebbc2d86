import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { HostError } from '../../errors.ts';
import { readTemplate, type Values } from './template.ts';

const directory = mkdtempSync(join(tmpdir(), 'troupe-template-'));
const path = join(directory, 'run.template');

afterAll(() => rmSync(directory, { recursive: true }));

const values: Values = {
  prompt: 'Do "it".\nNow.',
  task: 'it',
  roleId: 'tester',
  cwd: '/project/a b',
  chatId: undefined,
  newChatId: undefined,
  model: undefined
};

async function rendered(text: string, more: Values = {}, program?: string) {
  writeFileSync(path, text);
  const template = await readTemplate(path);
  const { command, args } = template.render({ ...values, ...more }, program);
  return [command, ...args];
}

const documented = String.raw`cursor-agent --approve-mcps --model composer-1 --print \
<% if (chatId) { %> --resume <%= chatId %> <% } %> \
agent "<%= prompt %>"
`;

describe('a command of several lines with a condition', () => {
  const begin = ['cursor-agent', '--approve-mcps', '--model', 'composer-1'];

  test('leaves out the arguments of a chat without a chat', async () => {
    const expected = [...begin, '--print', 'agent', 'Do "it".\nNow.'];
    expect(await rendered(documented)).toEqual(expected);
    expect(await rendered(documented.replaceAll('\n', '\r\n'))).toEqual(
      expected
    );
  });

  test('has the arguments of a chat with a chat', async () => {
    expect(await rendered(documented, { chatId: 'c-1' })).toEqual([
      ...begin,
      ...['--print', '--resume', 'c-1', 'agent', 'Do "it".\nNow.']
    ]);
  });

  test("begins with the user's program, once", async () => {
    const words = await rendered(documented);
    expect(await rendered(documented, {}, 'cursor-agent')).toEqual(words);
    expect(await rendered(documented, {}, '/opt/agent')).toEqual([
      '/opt/agent',
      ...words
    ]);
  });
});

test.each([
  ['a <%= chatId %> b', ['a', 'b']],
  ['a "<%= chatId %>" b', ['a', '', 'b']],
  ["a '<%= chatId %>' b", ['a', '', 'b']],
  ['a ""<%= chatId %> b', ['a', '', 'b']],
  ['a x<%= chatId %> b', ['a', 'x', 'b']],
  ['a --chat=<%= chatId %>', ['a', '--chat=']],
  ['a <%= chatId ?? "none" %>', ['a', 'none']],
  ['a <%= null %> <%= 0 %> <%= false %>', ['a', '0', 'false']],
  ['a <%= it.chatId %> <%= it["roleId"] %>', ['a', 'tester']],
  ['a <%= cwd %>', ['a', '/project/a b']],
  ['a $HOME "$HOME" ~ *', ['a', '$HOME', '$HOME', '~', '*']],
  ['a\n\n\tb\r\n  c', ['a', 'b', 'c']],
  ['\ufeffa\u00a0b c', ['a\u00a0b', 'c']],
  ['a <%# a "comment" of\n`two` <%- lines | %> b', ['a', 'b']],
  ["a <% /* it's one too */ %> b", ['a', 'b']],
  ['a <% for (const x of [1, 2]) { %>-x<%= x %> <% } %>', ['a', '-x1', '-x2']],
  ['<%= roleId %> <%= cwd %>', ['tester', '/project/a b']]
])('%j is %j', async (text, words) => {
  expect(await rendered(text)).toEqual(words);
});

test('values of one rendering do not appear in the next', async () => {
  writeFileSync(path, 'a <%= task %> <%= prompt %>');
  const template = await readTemplate(path);
  const asked = ['one', 'two', ''].map((task) =>
    template.render({ task, prompt: task.toUpperCase() })
  );
  expect(asked.map(({ args }) => args)).toEqual([
    ['one', 'ONE'],
    ['two', 'TWO'],
    []
  ]);
});

test('a rendering reports the names of the values that it used', async () => {
  writeFileSync(
    path,
    'a <% if (chatId) { %> <%= newChatId %> <% } else { %> <%= task %> <% } %>'
  );
  const template = await readTemplate(path);
  expect([...template.render(values).used]).toEqual(['chatId', 'task']);
  const withChat = template.render({ ...values, chatId: 'c' });
  expect([...withChat.used]).toEqual(['chatId', 'newChatId']);
});

test('a template may be empty when the user names a program', async () => {
  expect(await rendered('', {}, 'cat')).toEqual(['cat']);
  expect(await rendered('"" x', {}, 'cat')).toEqual(['cat', '', 'x']);
});

async function refusal(text: string, more: Values = {}): Promise<HostError> {
  try {
    const words = await rendered(text, more);
    throw new Error(`It was rendered: ${JSON.stringify(words)}`);
  } catch (error) {
    if (error instanceof HostError) return error;
    throw error;
  }
}

describe('a template is refused with its name and the reason:', () => {
  test.each([
    ['cat x | agent', '"|" outside quotes'],
    ['cd x && agent', '"&&" outside quotes'],
    ['a; agent', '";" outside quotes'],
    ['agent > out', '">" outside quotes'],
    ['agent < in', '"<" outside quotes'],
    ['agent $(cat x)', '"$(" outside quotes'],
    ['agent `cat x`', '"`" outside quotes'],
    ['agent &', '"&" outside quotes'],
    ['agent "x', 'an open quote'],
    ["agent don't", 'an open quote'],
    ['agent \\', 'a last backslash'],
    ['agent <%~ prompt %>', '<%~'],
    ['agent <%_ ~ prompt %>', '<%~'],
    ['agent <%- prompt %>', '<%-'],
    ['agent <% output(prompt) %>', 'output is not defined'],
    ['agent <%= chatID %>', 'chatID is not defined'],
    ['agent <%= toString %>', 'a value that is not text'],
    ['agent <%= it %>', 'a value that is not text'],
    ['agent <%= hasOwn %>', 'hasOwn is not defined'],
    ['agent <%= prompt.none.at %>', "undefined (reading 'at')"],
    ['agent <% if (chatId) { %> x', 'it has an error'],
    ['agent <%= prompt +* %>', "it has an error: Unexpected token '*'."],
    ['agent\n\n<%= prompt', 'unclosed tag at line 3 col 1.'],
    ['agent <%# x\n\n %> <%= prompt', 'unclosed tag at line 3 col 2.'],
    ['agent <%= "\\0" %>', 'a NUL character'],
    ['agent \0', 'a NUL character'],
    ['', 'no program'],
    [' \n\t', 'no program'],
    ['<%= chatId %>', 'no program'],
    ['"" x', 'no program'],
    ['agent <% throw new Error("it needs a model") %>', ': it needs a model.'],
    ['agent <% throw 3 %>', ': it has an error: 3.']
  ])('%j', async (text, reason) => {
    const { code, message, hint } = await refusal(text);
    expect(code).toBe('template_invalid');
    expect(message).toContain(`The template ${path} cannot be used: `);
    expect(message).toContain(reason);
    expect(message).toMatch(/[^.:]\.$/);
    expect(hint).toContain('docs/guides/templates.md');
  });

  test('a missing file', async () => {
    const none = join(directory, 'none.template');
    await expect(readTemplate(none)).rejects.toMatchObject({
      code: 'template_invalid',
      message: `The template ${none} cannot be used: it cannot be read (ENOENT).`
    });
  });

  test('a value that is too long for an argument on Linux', async () => {
    const longest = 'é'.repeat(65_535);
    const text = 'agent -<%= prompt %>';
    expect(await rendered(text, { prompt: longest })).toHaveLength(2);
    const { message } = await refusal(text, { prompt: `${longest}xx` });
    expect(message).toContain('more than 131071 bytes');
    expect(message).toContain('the prompt goes to stdin');
    expect(message.length).toBeLessThan(500);
  });
});
