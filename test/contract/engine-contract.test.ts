import { expect, test } from 'vitest';
import type { Engine } from '../../src/plugin/plugin.ts';
import { answers, api, outputs, program } from '../kit/agents/right-engines.ts';
import { wrongApis, wrongPrograms } from '../kit/agents/wrong-engines.ts';
import { wrongWorkers } from '../kit/agents/wrong-workers.ts';
import { describeEngine, type Fixture } from './engine-contract.ts';

/** Titles of the tests that fail, with what they say. */
async function failuresOf(
  engine: Engine,
  fixtures: Fixture[]
): Promise<Map<string, string>> {
  const checks: [string, () => void | Promise<void>][] = [];
  describeEngine(engine, fixtures, {
    describe: (_, body) => body(),
    it: (title, run) => checks.push([title, run])
  });
  const failures = new Map<string, string>();
  for (const [title, run] of checks)
    try {
      await run();
    } catch (error) {
      failures.set(title, error instanceof Error ? error.message : '');
    }
  return failures;
}

test('engines that do as they should pass', async () => {
  expect(await failuresOf(program, outputs)).toEqual(new Map());
  expect(await failuresOf(api, answers)).toEqual(new Map());
});

test("a program's own words are no value of a request", async () => {
  const { args } = program;
  const words = ['--format=plain', 'plain', '/plain', 'model', 'cwd'];
  const wordy: Engine = {
    ...program,
    args: (request) => [...words, ...args(request)]
  };
  expect(await failuresOf(wordy, outputs)).toEqual(new Map());
});

test('what is no engine has one failing test', async () => {
  const broken = { ...program, env: { keep: 'HOME' } };
  const failures = await failuresOf(Object(broken), outputs);
  expect([...failures.keys()]).toEqual(['is an engine that the host loads']);
  expect([...failures.values()].join()).toContain('env.keep');
});

test.each([...wrongPrograms, ...wrongWorkers])(
  '%s fails',
  async (_, change, title, said) => {
    const wrong = Object({ ...program, ...change });
    const failures = [...(await failuresOf(wrong, outputs))];
    const found = failures.find(([name]) => name.startsWith(title));
    expect(failures.map(([name]) => name).join('\n')).toContain(title);
    expect(found?.[1]).toMatch(said);
  }
);

test.each(wrongApis)('%s fails', async (_, change, title, said) => {
  const wrong = Object({ ...api, ...change });
  const failures = [...(await failuresOf(wrong, answers))];
  const found = failures.find(([name]) => name.startsWith(title));
  expect(failures.map(([name]) => name).join('\n')).toContain(title);
  expect(found?.[1]).toMatch(said);
});
