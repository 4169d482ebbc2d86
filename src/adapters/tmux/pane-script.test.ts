import { spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect } from 'vitest';
import {
  hostileText,
  longHostileText
} from '../../../test/kit/judges/hostile-text.ts';
import { needing } from '../../../test/kit/workspaces/needs.ts';
import { exitCodeOf } from '../../core/runs/run-files.ts';
import { locate } from '../child-process/locate.ts';
import { preparePane } from './pane-script.ts';

let base: string;

beforeAll(() => {
  base = mkdtempSync(join(tmpdir(), 'troupe-pane-'));
});

afterAll(() => rmSync(base, { recursive: true, force: true }));

const reporter = `
const { argv, env, cwd } = process;
const facts = { argv: argv.slice(2), env, cwd: process.cwd() };
require('node:fs').writeFileSync(argv[1], JSON.stringify(facts));
`;

describe.each(['sh', 'dash', 'busybox', 'bash'])(
  'a program started by %s',
  (name) => {
    const shell = locate(name);
    const testHere = needing(name, shell !== undefined);

    testHere('gets every byte of its values', async () => {
      const values = fc.array(hostileText, { minLength: 8, maxLength: 20 });
      await fc.assert(
        fc.asyncProperty(values, values, async (args, variables) => {
          const environment = named(variables);
          const facts = await start(shell ?? '', args, environment);
          expect(facts.argv).toEqual(args);
          expect(facts.env).toMatchObject(environment);
        }),
        { numRuns: 5 }
      );
    });

    testHere('gets values longer than a message of tmux', async () => {
      const [text = ''] = fc.sample(longHostileText(100_000), 1);
      const facts = await start(shell ?? '', [text], { LONG: text });
      expect(facts.argv).toEqual([text]);
      expect(facts.env).toMatchObject({ LONG: text });
    });

    testHere('starts despite variables that a shell reserves', async () => {
      const environment = {
        ...{ PPID: '1', UID: '2', EUID: '3', OPTIND: 'x', LINENO: 'x' },
        ...{ SHELLOPTS: 'x', BASHOPTS: 'x', BASH_VERSINFO: 'x', IFS: 'x' },
        ...{ 'not-a-name': 'x', '': 'x', 'BASH_FUNC_x%%': '() { :; }' },
        ...{ PS4: '$(id)', ENV: '/none', KEPT: 'yes', _: 'x', PWD: '/none' }
      };
      const facts = await start(shell ?? '', [], environment);
      expect(facts.env).toMatchObject({ KEPT: 'yes' });
      expect(facts.env).not.toHaveProperty('not-a-name');
    });
  }
);

/** Runs a pane's script with another shell; returns what the program got. */
async function start(
  shell: string,
  args: string[],
  environment: Record<string, string>
): Promise<{ argv: string[]; env: Record<string, string>; cwd: string }> {
  const directory = mkdtempSync(join(base, 'agent-'));
  const cwd = join(directory, ' odd\n\'$(id)"#{pid};');
  mkdirSync(cwd);
  for (const file of ['stdout', 'stderr']) writeFileSync(join(cwd, file), '');
  const report = join(directory, 'report');
  const request = {
    agentId: 'a1',
    directory,
    command: process.execPath,
    args: ['-e', reporter, '--', report, ...args],
    cwd,
    environment: { PATH: process.env.PATH ?? '', ...environment },
    timeoutSeconds: 0,
    idleTimeoutSeconds: 0,
    outputLimitBytes: 0,
    stopWithUs: false
  };
  const words = preparePane(request, '/none');
  const [file = '', script = ''] = words.reverse();
  expect(statSync(file).mode & 0o777).toBe(0o600);
  const child = spawn(shell, ['-c', script, 'troupe-pane', file], {
    argv0: 'sh',
    env: {},
    stdio: ['ignore', 'ignore', 'inherit']
  });
  await once(child, 'exit');
  expect(exitCodeOf(directory)).toBe(0);
  expect(existsSync(file)).toBe(false);
  const facts = JSON.parse(readFileSync(report, 'utf8'));
  expect(facts.cwd).toBe(cwd);
  return facts;
}

function named(values: string[]): Record<string, string> {
  return Object.fromEntries(values.map((value, n) => [`VALUE_${n}`, value]));
}
