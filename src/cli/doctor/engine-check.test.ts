import { expect, onTestFinished, test, vi } from 'vitest';
import { hostHere } from '../../../test/kit/servers/host-here.ts';
import { createTempWorkspace } from '../../../test/kit/workspaces/temp-workspace.ts';
import type { CliEngine } from '../../plugin/plugin.ts';
import type { EngineCheck, EngineFacts } from '../json/setup-documents.ts';
import {
  checkEngine,
  describeAccess,
  describeReadiness
} from './engine-check.ts';

type Probe = NonNullable<CliEngine['probe']>;

interface Made extends Partial<CliEngine> {
  /** What its program does; undefined without a program. */
  body?: string;
  variables?: Record<string, string>;
}

/** The check of a made-up engine `mine`. */
async function check({ body, variables = {}, ...more }: Made) {
  const programs = createTempWorkspace();
  onTestFinished(() => programs.remove());
  vi.stubEnv('PATH', programs.bin);
  const path = body === undefined ? '' : programs.program('mine-program', body);
  const engine: CliEngine = {
    ...{ kind: 'cli', name: 'mine', description: 'x', args: () => [] },
    command: 'mine-program',
    ...more
  };
  const { host } = await hostHere({ engines: 'mine' }, [engine]);
  for (const [name, value] of Object.entries(variables))
    vi.stubEnv(name, value);
  const known = host.registry.get('mine');
  return { path, found: await checkEngine(host, known) };
}

/** Prints a version, or the text for `login`. */
const printing = (login: string) =>
  `console.log(process.argv[2] === 'login' ? '${login}' : '1.2.3');`;

const loginProbe: Probe = {
  version: ['--version'],
  login: {
    args: ['login'],
    read: ({ stdout }) =>
      stdout.includes('in') ? 'logged in' : 'not logged in'
  }
};

test('a missing program is to be installed, or put on PATH', async () => {
  const none = { available: false, path: null, ready: false, login: 'unknown' };
  const { found } = await check({ install: 'npm i mine' });
  expect(found).toMatchObject({ ...none, next: 'Install it: npm i mine' });
  const { found: plain } = await check({});
  expect(plain).toMatchObject({
    ...{ ...none, next: 'Put the program "mine-program" on PATH.' }
  });
});

test('a program that prints its version and is logged in is ready', async () => {
  const { path, found } = await check({
    ...{ body: printing('in'), probe: loginProbe }
  });
  expect(found).toMatchObject({
    ...{ available: true, path, version: '1.2.3', login: 'logged in' },
    ...{ ready: true, next: null, keys: [], pass_env: [], kind: 'cli' }
  });
});

test('a program without a probe is ready, and is not started', async () => {
  const { found } = await check({ body: 'process.exit(1);' });
  expect(found).toMatchObject({ ready: true, version: null, login: 'unknown' });
});

test('a program whose version fails is not ready', async () => {
  const { path, found } = await check({
    body: 'console.log("1.2.3"); process.exit(3);',
    probe: { version: ['--version'] }
  });
  expect(found).toMatchObject({
    ...{ ready: false, version: null },
    next: `Find out why ${path} fails: exit code 3.`
  });
});

test.each<[string, Partial<Probe>, string]>([
  ['its hint', { loginHint: 'Run: mine login' }, 'Run: mine login'],
  ['the usual step', {}, 'Log in with the program itself.']
])(
  'a program that is not logged in is not ready, and has %s',
  async (_, probe, next) => {
    const { found } = await check({
      ...{ body: printing('out'), probe: { ...loginProbe, ...probe } }
    });
    expect(found).toMatchObject({ login: 'not logged in', ready: false, next });
  }
);

test('a key in the environment may be all that the program needs', async () => {
  const { found } = await check({
    ...{ body: printing('out'), probe: loginProbe, env: { keep: ['MINE_*'] } },
    variables: { MINE_API_KEY: 'secret', MINE_HOME: '/x', MINE_TOKEN: '' }
  });
  expect(found).toMatchObject({
    ...{ login: 'not logged in', ready: true },
    keys: [{ name: 'MINE_API_KEY', from: 'environment' }]
  });
});

test.each<[string, boolean, 'logged in' | 'not logged in', string | undefined]>(
  [
    ['secret', true, 'logged in', 'OTHER_KEY'],
    ['', false, 'not logged in', 'OTHER_KEY'],
    ['', true, 'logged in', undefined]
  ]
)(
  'the provider that is selected decides: key "%s", ready %s',
  async (key, ready, login, keyName) => {
    const provider = { name: 'Other', ...(keyName ? { keyName } : {}) };
    const { found } = await check({
      ...{ body: printing('out'), label: 'Mine' },
      env: { keep: ['OTHER_KEY', 'MINE_API_KEY'] },
      probe: { ...loginProbe, provider: () => provider },
      variables: { OTHER_KEY: key, MINE_API_KEY: 'x' }
    });
    expect(found).toMatchObject({ ready, login });
    expect(found.next).toBe(
      ready
        ? null
        : "Set OTHER_KEY, which Mine's own configuration names for its provider Other."
    );
  }
);

test('an engine that throws is a fault of its plugin', async () => {
  const fails = () => {
    throw new Error('Boom.');
  };
  const { found } = await check({
    ...{ body: printing('in'), probe: { ...loginProbe, provider: fails } }
  });
  expect(found.ready).toBe(false);
  expect(found.next).toMatch(/Boom.* Correct it, or remove it from "plugins"/);
});

test('the built-in stand-in says what it enforces', async () => {
  const { host } = await hostHere();
  const engine = host.registry.get('rehearsal');
  expect(await checkEngine(host, engine)).toMatchObject({
    ...{ name: 'rehearsal', tool: 'spawn_rehearsal', ready: true },
    access: { read: 'enforced', write: 'enforced', full: 'enforced' },
    models: { default: 'script', aliases: {} }
  });
});

type Level = NonNullable<EngineFacts['access']>['read'];

test.each<[string, Level[] | null]>([
  ['text only', null],
  ['enforced', ['enforced', 'enforced', 'enforced']],
  ['full asked', ['enforced', 'enforced', 'asked']],
  ['write, full asked', ['enforced', 'asked', 'asked']],
  ['asked', ['asked', 'asked', 'asked']]
])('access is described in short: %s', (text, levels) => {
  const [read = 'asked', write = 'asked', full = 'asked'] = levels ?? [];
  const access = levels && { read, write, full };
  expect(describeAccess({ access } as EngineFacts)).toBe(text);
});

test.each<[string, Partial<EngineCheck>]>([
  ['yes', { ready: true, available: false }],
  ['not installed', { kind: 'cli', available: false }],
  ['no key', { kind: 'api', available: false }],
  ['not logged in', { available: true, login: 'not logged in' }],
  ['see doctor', { available: true, login: 'logged in' }]
])('readiness is described in short: %s', (text, changes) => {
  const facts = { ready: false, kind: 'cli', ...changes };
  expect(describeReadiness(facts as EngineCheck)).toBe(text);
});
