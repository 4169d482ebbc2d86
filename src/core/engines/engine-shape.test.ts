import { expect, test } from 'vitest';
import { guardEngine } from './load/guard-engine.ts';
import { problemOf } from './load/load-engines.ts';

const parts = {
  kind: 'cli',
  name: 'mine',
  description: 'Mine.',
  command: 'mine',
  args: () => []
};

function problemWith(changes: object): string | undefined {
  try {
    guardEngine({ ...parts, ...changes });
  } catch (error) {
    return problemOf(error);
  }
  return undefined;
}

const versions = (oldest: string, newest: string) => ({
  probe: { verified: { oldest, newest } }
});

test.each([
  [versions('1', '2.0'), 'probe.verified.oldest: must be like 1.2.3'],
  [versions('1.0', 'v2.0'), 'probe.verified.newest: must be like 1.2.3'],
  [versions('1.10', '1.9'), 'probe.verified.oldest: is newer than "newest"'],
  [
    { probe: { unlisted: ['mode'] } },
    'probe.unlisted[0]: must be a flag without its value, like --mode'
  ],
  [
    { probe: { unlisted: ['-m', '--mode=read'] } },
    'probe.unlisted[1]: must be a flag without its value, like --mode'
  ],
  [
    { takesSessionId: true, resumes: false },
    'takesSessionId: needs "resumes": nothing else continues a session'
  ],
  [
    { createChat: ['new-chat'] },
    'createChat: needs "resumes": nothing else continues a session'
  ],
  [
    { createChat: 'new-chat', resumes: true },
    'createChat: expected array, received string'
  ],
  [
    { createChat: [], resumes: true },
    'createChat: Too small: expected array to have >=1 items'
  ],
  [{ oneAtATime: 'yes' }, 'oneAtATime: expected boolean, received string'],
  [
    { workerAliases: ['Two words'] },
    'workerAliases[0]: lower-case letters, digits and dashes, at most 26, a letter first'
  ],
  [
    { readError: () => undefined },
    'readError: needs "read", which shows that a run goes on'
  ]
])('%j is refused with the name of the member', (changes, problem) => {
  expect(problemWith(changes)).toBe(`it is not an engine: ${problem}`);
});

test.each([
  ['name', 'nme'],
  ['kind', 'knd'],
  ['args', 'agrs'],
  ['description', 'descripton']
])('a plugin without %s that has %s is asked about it', (name, typed) => {
  const { [name]: value, ...rest } = Object.fromEntries(Object.entries(parts));
  let problem: string | undefined;
  try {
    guardEngine({ ...rest, [typed]: value });
  } catch (error) {
    problem = problemOf(error);
  }
  expect(problem).toContain(`it is not an engine: ${name}: `);
  expect(problem).toContain(`; ${typed}: did you mean "${name}"?`);
});

test('a misspelt level of access is asked about', () => {
  const access = { raed: 'asked', write: 'asked', full: 'asked' };
  expect(problemWith({ access })).toContain('; raed: did you mean "read"?');
});

test('a member of its own is no mistake for another one that is there', () => {
  expect(problemWith({ nme: 'x' })).toBeUndefined();
  const problem = problemWith({ nme: 'x', command: 7 });
  expect(problem).toBe(
    'it is not an engine: command: expected string, received number'
  );
});

test.each([
  versions('1.9', '1.10'),
  versions('1.2.3', '1.2.3'),
  versions('2026.09.28', '2026.10.01'),
  { probe: { unlisted: ['-m', '-verbose', '--no-colour', '--o.p_q'] } },
  { takesSessionId: true, resumes: true },
  { createChat: ['new-chat', '--quiet'], resumes: true, oneAtATime: true }
])('%j is an engine', (changes) => {
  expect(problemWith(changes)).toBeUndefined();
});

test.each([-1, 1.5, Number.NaN])('a reply cannot retry %d times', (times) => {
  const why = { code: 'network', message: 'x' };
  const reply = { text: '', finished: false, retrying: { times, why } };
  const engine = guardEngine({ ...parts, read: () => reply });
  const read = engine.kind === 'cli' ? engine.read : undefined;
  expect(() => read?.({ text: '', finished: false }, {})).toThrow(
    /retrying\.times/
  );
});
