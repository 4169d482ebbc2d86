import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, expect, test } from 'vitest';
import {
  hostileText,
  longHostileText
} from '../../../../test/kit/judges/hostile-text.ts';
import { readTemplate, splitWords } from './template.ts';

const directory = mkdtempSync(join(tmpdir(), 'troupe-template-'));
let files = 0;

afterAll(() => rmSync(directory, { recursive: true }));

function templateOf(text: string) {
  files += 1;
  const path = join(directory, `${files}.template`);
  writeFileSync(path, text);
  return readTemplate(path);
}

/** The arguments that a process received, as bytes. */
function received(args: string[]): Promise<Buffer> {
  const script = 'printf "%s\\0" "$@"';
  return new Promise((resolve, reject) =>
    execFile(
      '/bin/sh',
      ['-c', script, 'sh', ...args],
      { encoding: 'buffer', maxBuffer: 10_000_000 },
      (error, stdout) => (error ? reject(error) : resolve(stdout))
    )
  );
}

function bytesOf(args: string[]): Buffer {
  return Buffer.from(args.map((arg) => `${arg}\0`).join(''));
}

/** Positions of a value in a template, with the argument that results. */
const positions: [place: string, argument: (value: string) => string][] = [
  ['"<%= V %>"', (value) => value],
  ["'<%= V %>'", (value) => value],
  ['--name=<%= V %>', (value) => `--name=${value}`],
  ['<%= V %>tail', (value) => `${value}tail`],
  ['12<%= V %>34', (value) => `12${value}34`],
  ['"a \\" $ <%= V %> `b` \'"', (value) => `a " $ ${value} \`b\` '`],
  ["'a \\ $ <%= V %> \"b'", (value) => `a \\ $ ${value} "b`],
  ['x"<%= V %>"y\'<%= V %>\'z', (value) => `x${value}y${value}z`],
  ['\\$<%= V %>\\ ', (value) => `$${value} `],
  ['-<%=V-%>', (value) => `-${value}`],
  ['-\\<%= V %>', (value) => `-${value}`],
  ['"\\<%= V %>"', (value) => `\\${value}`],
  ['"<% if (V) { %>1<% } %><%=V%>"', (value) => `${value && '1'}${value}`],
  ['=<%= `${V}$&` %>', (value) => `=${value}$&`]
];

const values = fc.record({
  prompt: hostileText,
  task: hostileText,
  chatId: hostileText,
  cwd: hostileText,
  roleId: hostileText,
  SOME_VARIABLE: hostileText
});
const names = [
  'prompt',
  'task',
  'chatId',
  'cwd',
  'roleId',
  'SOME_VARIABLE'
] as const;
const use = fc.record({
  name: fc.constantFrom(...names),
  place: fc.constantFrom(...positions)
});

test('a value reaches a process byte for byte, and changes nothing around it', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(use, { minLength: 1, maxLength: 12 }),
      fc.array(values, { minLength: 1, maxLength: 8 }),
      async (uses, all) => {
        const text = uses.map(({ name, place: [written] }) =>
          written.replaceAll('V', name)
        );
        const template = await templateOf(
          `program first ${text.join(' \\\n  "" mid ')} last\n`
        );
        const expected = all.map((given) => [
          'first',
          ...uses.flatMap(({ name, place: [, argument] }, index) => [
            ...(index === 0 ? [] : ['', 'mid']),
            argument(given[name])
          ]),
          'last'
        ]);
        const rendered = all.map((given) => template.render(given));
        const args = rendered.map((one) => one.args);
        expect(args).toEqual(expected);
        expect(rendered[0]?.command).toBe('program');
        const bytes = await received(args.flat());
        expect(bytes.equals(bytesOf(expected.flat()))).toBe(true);
      }
    ),
    { numRuns: 300 }
  );
});

test('an unquoted value is one argument, or none when it is empty', async () => {
  const template = await templateOf('program <%= prompt %> <%= task %> end');
  await fc.assert(
    fc.asyncProperty(values, async ({ prompt, task }) => {
      const { args } = template.render({ prompt, task });
      const expected = [prompt, task, 'end'].filter((word) => word !== '');
      expect(args).toEqual(expected);
      const bytes = await received(args);
      expect(bytes.equals(bytesOf(expected))).toBe(true);
    }),
    { numRuns: 300 }
  );
});

test('values of nearly the maximum length of the system reach it as well', async () => {
  const template = await templateOf('program -- <%= prompt %> end');
  await fc.assert(
    fc.asyncProperty(longHostileText(131_071), async (prompt) => {
      const { args } = template.render({ prompt });
      const expected = ['--', ...(prompt === '' ? [] : [prompt]), 'end'];
      const bytes = await received(args);
      expect(bytes.equals(bytesOf(expected))).toBe(true);
    }),
    { numRuns: 30 }
  );
});

/** A word with the quoting that a user may write in a shell. */
const written = fc
  .array(
    fc
      .tuple(hostileText, fc.constantFrom('single', 'double', 'escaped'))
      .map(([text, how]) => ({ text, source: quoted(text, how) })),
    { minLength: 1, maxLength: 4 }
  )
  .map((parts) => ({
    word: parts.map(({ text }) => text).join(''),
    source: `""${parts.map(({ source }) => source).join('')}`
  }));

function quoted(text: string, how: 'single' | 'double' | 'escaped'): string {
  if (how === 'single') return `'${text.replaceAll("'", "'\\''")}'`;
  const escaped = text.replace(/[$`"\\]/g, '\\$&');
  if (how === 'double') return `"${escaped}"`;
  return [...text]
    .map((character) => (character === '\n' ? "'\n'" : `\\${character}`))
    .join('');
}

test('a template splits into the same words as in a shell', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(written, { maxLength: 6 }),
      fc.constantFrom(' ', '\t', ' \\\n ', '  '),
      async (words, blank) => {
        const command = words.map(({ source }) => source).join(blank);
        const expected = words.map(({ word }) => word);
        expect(splitWords(command)).toEqual(expected);
        const script = `printf '%s\\0' "$#" ${command}`;
        const args = ['-c', script, 'sh', ...expected];
        const shell = await new Promise<Buffer>((resolve, reject) =>
          execFile('/bin/sh', args, { encoding: 'buffer' }, (error, stdout) =>
            error ? reject(error) : resolve(stdout)
          )
        );
        const count = String(expected.length);
        expect(shell.equals(bytesOf([count, ...expected]))).toBe(true);
      }
    ),
    { numRuns: 300 }
  );
});
