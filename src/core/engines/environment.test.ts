import { expect, test } from 'vitest';
import type { CliEngine, EngineRequest } from '../../plugin/plugin.ts';
import { type Additions, childEnvironment } from './environment.ts';

const request: EngineRequest = {
  prompt: 'x',
  access: 'full',
  cwd: '/',
  asRoot: false
};

function environmentOf(
  from: Record<string, string | undefined>,
  env: CliEngine['env'] = {},
  additions: Additions = {}
) {
  const engine: CliEngine = {
    kind: 'cli',
    name: 'x',
    description: 'x',
    command: 'x',
    args: () => [],
    ...(env ? { env } : {})
  };
  const record = { agent_id: '0000000a', depth: 2 };
  return childEnvironment(engine, request, record, '/d', additions, from);
}

const marks = {
  TROUPE_AGENT_ID: '0000000a',
  TROUPE_AGENT_DIR: '/d',
  TROUPE_DEPTH: '2'
};

/** Those of another agent, which is less deep. */
const foreignMarks = {
  TROUPE_AGENT_ID: '0000000b',
  TROUPE_AGENT_DIR: '/other',
  TROUPE_DEPTH: '0'
};

test('variables that any program needs are passed on', () => {
  const needed = {
    PATH: '/bin',
    HOME: '/home/x',
    LC_ALL: 'C',
    XDG_CONFIG_HOME: '/c',
    HTTPS_PROXY: 'http://proxy',
    no_proxy: 'localhost',
    SSH_AUTH_SOCK: '/s'
  };
  expect(environmentOf(needed)).toEqual({ ...needed, ...marks });
});

test('keys of other engines, marks of nested sessions and all other variables are withheld', () => {
  expect(
    environmentOf({
      OPENAI_API_KEY: 'k',
      ANTHROPIC_API_KEY: 'k',
      GITHUB_TOKEN: 'k',
      AWS_SECRET_ACCESS_KEY: 'k',
      CLAUDECODE: '1',
      CLAUDE_CODE_ENTRYPOINT: 'cli',
      CODEX_SANDBOX: 'x',
      NODE_OPTIONS: '--inspect',
      LD_PRELOAD: 'x',
      npm_config_registry: 'x',
      TROUPE_DEPTH: '1',
      TROUPE_ENGINES: 'x',
      LC: 'x',
      MY_PATH: 'x',
      UNDEFINED: undefined
    })
  ).toEqual(marks);
});

test('an engine keeps variables by name or prefix, and drops some', () => {
  const env = { keep: ['MY_*', 'OTHER'], drop: ['MY_SESSION', 'MY_DEBUG_*'] };
  const from = {
    MY_KEY: '1',
    MY_SESSION: '2',
    MY_DEBUG_LEVEL: '3',
    OTHER: '4',
    OTHERS: '5'
  };
  expect(environmentOf(from, env)).toEqual({
    MY_KEY: '1',
    OTHER: '4',
    ...marks
  });
});

test.each<[string, CliEngine['env'], Additions]>([
  ['the caller', {}, { asked: { ...foreignMarks } }],
  ['the configuration', {}, { env: { ...foreignMarks } }],
  ['the engine', { set: () => foreignMarks }, {}],
  ['the environment of this server', { keep: ['TROUPE_*'] }, {}],
  [
    'the environment, by the configuration',
    {},
    { passEnv: Object.keys(foreignMarks) }
  ]
])('%s cannot make an agent pass for another one', (_, env, additions) => {
  const { TROUPE_AGENT_ID, TROUPE_AGENT_DIR, TROUPE_DEPTH } = environmentOf(
    foreignMarks,
    env,
    additions
  );
  expect({ TROUPE_AGENT_ID, TROUPE_AGENT_DIR, TROUPE_DEPTH }).toEqual(marks);
});

test('the configuration of an engine cannot name variables of troupe', () => {
  const named = () => ['MY_KEY', 'TROUPE_HTTP_TOKEN', 'TROUPE_API_KEY'];
  const from = {
    MY_KEY: '1',
    TROUPE_HTTP_TOKEN: 'secret',
    TROUPE_API_KEY: 'secret'
  };
  expect(environmentOf(from, { named })).toEqual({ MY_KEY: '1', ...marks });
});

test('a placeholder that a client did not expand is left out', () => {
  const from = { X_KEY: '${X_KEY}', X_URL: '$X_URL', X_OWN: 'a-${b}' };
  const { X_KEY, X_URL, X_OWN } = environmentOf(from, { keep: ['X_*'] });
  expect({ X_KEY, X_URL, X_OWN }).toEqual({ X_OWN: 'a-${b}' });
});

test('drop also removes variables of the allow-list', () => {
  expect(environmentOf({ TERM: 'x' }, { drop: ['TERM'] })).toEqual(marks);
});

test('the TROUPE variables override the configuration, which overrides set and keep', () => {
  const env = {
    keep: ['A', 'B', 'C'],
    set: () => ({ B: 'set', C: 'set', TROUPE_DEPTH: '0' })
  };
  const from = { A: 'kept', B: 'kept', C: 'kept' };
  expect(
    environmentOf(from, env, { env: { C: 'configured', TROUPE_AGENT_ID: 'x' } })
  ).toEqual({ A: 'kept', B: 'set', C: 'configured', ...marks });
});

const clouds = {
  keep: ['X_*', 'CLOUD_PROJECT'],
  keepIf: { X_USE_CLOUD: ['CLOUD_*', 'X_CLOUD_*'], USE_OTHER: ['OTHER_KEY'] }
};
const credentials = {
  X_KEY: 'k',
  X_CLOUD_KEY: 'k',
  CLOUD_SECRET: 'k',
  CLOUD_PROJECT: 'p',
  OTHER_KEY: 'k'
};

test.each([{}, { X_USE_CLOUD: '0' }, { X_USE_CLOUD: 'false' }])(
  'the credentials of a cloud are withheld while its switch is %j',
  (switches) => {
    const from = { ...credentials, ...switches };
    expect(environmentOf(from, clouds)).toEqual({
      X_KEY: 'k',
      CLOUD_PROJECT: 'p',
      ...switches,
      ...marks
    });
  }
);

test.each(['1', 'true', 'YES', 'on'])(
  'the credentials of a cloud are passed on while its own switch is %s',
  (X_USE_CLOUD) => {
    const { OTHER_KEY, ...own } = credentials;
    const from = { ...credentials, X_USE_CLOUD };
    expect(environmentOf(from, clouds)).toEqual({
      ...own,
      X_USE_CLOUD,
      ...marks
    });
    const drop = ['CLOUD_SECRET'];
    expect(environmentOf(from, { ...clouds, drop })).not.toHaveProperty(
      'CLOUD_SECRET'
    );
  }
);

test('the configuration can enable a keepIf group, a caller cannot', () => {
  const USE_OTHER = '1';
  const set = environmentOf(credentials, clouds, { env: { USE_OTHER } });
  expect(set).toMatchObject({ USE_OTHER, OTHER_KEY: 'k' });
  const asked = environmentOf(credentials, clouds, { asked: { USE_OTHER } });
  expect(asked).toMatchObject({ USE_OTHER });
  expect(asked).not.toHaveProperty('OTHER_KEY');
});

test('variables in passEnv are passed on if they are set', () => {
  const from = { GATEWAY_KEY: 'k', GATEWAY_KEYS: 'k', EMPTY: '${EMPTY}' };
  const passEnv = ['GATEWAY_KEY', 'MISSING', 'EMPTY'];
  const drop = ['GATEWAY_*'];
  expect(environmentOf(from, { drop }, { passEnv })).toEqual({
    GATEWAY_KEY: 'k',
    ...marks
  });
});
