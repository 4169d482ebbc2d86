import { expect, test } from 'vitest';
import type { CliEngine, EngineRequest } from '../../plugin/plugin.ts';
import { flagNames, flagsInHelp, flagsOf, isListed } from './program-flags.ts';

function engine(
  args: CliEngine['args'],
  rest: Partial<CliEngine> = {}
): CliEngine {
  const name = 'test';
  return { kind: 'cli', name, description: 'x', command: 'x', args, ...rest };
}

test('flags are found among other words, each once', () => {
  const args = () => ['exec', '-p', '--json', '--mode=yolo', '-p', '-'];
  expect(flagsOf(engine(args))).toEqual(['--json', '--mode', '-p']);
});

test('a value is no flag, nor is a word after "--"', () => {
  const args = ({ model = 'none' }: EngineRequest) => [
    ...['-c', 'key="--not-a-flag"', '--model', model, '--tools', 'a,b'],
    ...['--depth', '-1', '--', '--session']
  ];
  expect(flagsOf(engine(args))).toEqual([
    '--depth',
    '--model',
    '--tools',
    '-c'
  ]);
});

test('the flags of every kind of run are found', () => {
  const args = (request: EngineRequest) => [
    `--${request.access}`,
    ...(request.asRoot ? ['--root'] : []),
    ...(request.model ? ['--model'] : []),
    ...(request.systemPrompt ? ['--brief'] : []),
    ...(request.newSessionId ? ['--new'] : []),
    ...(request.baseUrl ? ['--url'] : []),
    ...(request.sessionId ? ['--resume'] : []),
    ...(request.sessionId && request.systemPrompt ? ['--brief-again'] : [])
  ];
  const always = '--brief --full --model --read --root --url --write';
  expect(flagsOf(engine(args))).toEqual(always.split(' '));
  const able = { resumes: true, takesSessionId: true };
  const more = ['--brief-again', '--new', '--resume'];
  expect(flagsOf(engine(args, able))).toEqual(
    [...always.split(' '), ...more].sort()
  );
});

const listed = (help: string) => [...flagsInHelp(help)].sort();

test('flags are found in the usual layouts of help', () => {
  const help = `Usage: x [-h] [--json] <file>\r
  -p, --print                 Print, as in "x --print"\r
  --allowedTools, --allowed-tools <tools...>
      -s, --sandbox=<MODE>    one of a-b, non-interactive
  --[no-]colour
  -verbose/-quiet (1.5).`;
  expect(listed(help)).toEqual(
    [
      ...['--allowed-tools', '--allowedTools', '--colour', '--json'],
      ...['--no-colour', '--print', '--sandbox'],
      ...['-h', '-p', '-quiet', '-s', '-verbose']
    ].sort()
  );
});

test('a longer flag with the same prefix does not count as the flag', () => {
  const known = flagsInHelp('--model-provider, --output.format, --resumes');
  for (const flag of ['--model', '--output', '--resume', '-m', '-model'])
    expect(isListed(flag, known), flag).toBe(false);
  expect(isListed('--model-provider', known)).toBe(true);
});

test('a flag that is wrapped at a dash is one flag', () => {
  expect(listed('   --bypass-approvals-and-\n      sandbox   All.')).toEqual([
    '--bypass-approvals-and-sandbox'
  ]);
  expect(listed('reads from stdin with -\n  --json')).toEqual(['--json']);
});

test('a flag in colour, in a link or overstruck is listed', () => {
  const link = '\u001b]8;;http://x/--old\u0007--mode\u001b]8;;\u0007';
  expect(listed(`\u001b[1m--json\u001b[0m <file> ${link} -\b-m\bm`)).toEqual([
    ...['--json', '--mode', '-m']
  ]);
});

test('short flags in one word, or with a value, count as the first', () => {
  const known = flagsInHelp('-x  extract\n-j <jobs>  at once');
  expect(isListed('-xz', known)).toBe(true);
  expect(isListed('-j4', known)).toBe(true);
  expect(isListed('-zx', known)).toBe(false);
  expect(isListed('--xz', known)).toBe(false);
});

test('a value in the word of a flag is not part of its name', () => {
  const known = flagsInHelp('-jN  at once\n-D<name>\n-verbose');
  expect(isListed('-j4', known)).toBe(true);
  expect(isListed('-Dx', known)).toBe(true);
  const names = flagNames(['-j4', '-xz', '--jobs4', '-O2.5', '-j']);
  expect(names).toEqual(['-j', '-xz', '--jobs4', '-O']);
});
