import { expect, test } from 'vitest';
import { flagsToldIn, isTold, withoutValue } from './help-flags.ts';

const told = (help: string) => [...flagsToldIn(help)].sort();

test('flags are found in the ways that help is written', () => {
  const help = `Usage: x [-h] [--json] <file>\r
  -p, --print                 Print, as in "x --print"\r
  --allowedTools, --allowed-tools <tools...>
      -s, --sandbox=<MODE>    one of a-b, non-interactive
  --[no-]colour
  -verbose/-quiet (1.5).`;
  expect(told(help)).toEqual(
    [
      ...['--allowed-tools', '--allowedTools', '--colour', '--json'],
      ...['--no-colour', '--print', '--sandbox'],
      ...['-h', '-p', '-quiet', '-s', '-verbose']
    ].sort()
  );
});

test('a flag is not told by one that begins like it', () => {
  const known = flagsToldIn('--model-provider, --output.format, --resumes');
  for (const flag of ['--model', '--output', '--resume', '-m', '-model'])
    expect(isTold(flag, known), flag).toBe(false);
  expect(isTold('--model-provider', known)).toBe(true);
});

test('a flag that is wrapped at a dash is one flag', () => {
  expect(told('   --bypass-approvals-and-\n      sandbox   All.')).toEqual([
    '--bypass-approvals-and-sandbox'
  ]);
  expect(told('reads from stdin with -\n  --json')).toEqual(['--json']);
});

test('a flag is told in colour, as a link or struck twice, too', () => {
  const link = '\u001b]8;;http://x/--old\u0007--mode\u001b]8;;\u0007';
  expect(told(`\u001b[1m--json\u001b[0m <file> ${link} -\b-m\bm`)).toEqual([
    ...['--json', '--mode', '-m']
  ]);
});

test('short flags in one word, or with a value, are told by the first', () => {
  const known = flagsToldIn('-x  extract\n-j <jobs>  at once');
  expect(isTold('-xz', known)).toBe(true);
  expect(isTold('-j4', known)).toBe(true);
  expect(isTold('-zx', known)).toBe(false);
  expect(isTold('--xz', known)).toBe(false);
});

test('a value that stands in the word of a flag is no part of its name', () => {
  const known = flagsToldIn('-jN  at once\n-D<name>\n-verbose');
  expect(isTold('-j4', known)).toBe(true);
  expect(isTold('-Dx', known)).toBe(true);
  const words = ['-j4', '-j', '-xz', '--jobs4', '-O2.5'].map(withoutValue);
  expect(words).toEqual(['-j', '-j', '-xz', '--jobs4', '-O']);
});
