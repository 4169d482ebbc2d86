import { describe, expect, test } from 'vitest';
import type {
  CliEngine,
  Connection,
  EngineRequest,
  McpServer,
  Surroundings
} from '../../../plugin/plugin.ts';
import { EngineFault } from '../failures.ts';
import { guardEngine } from './guard-engine.ts';
import { problemOf } from './load-engines.ts';

const parts = {
  kind: 'cli',
  name: 'mine',
  description: 'Mine.',
  command: 'mine',
  args: () => []
};

const request: EngineRequest = Object.freeze({
  prompt: 'p',
  access: 'read',
  cwd: '/',
  asRoot: false
});

const server: McpServer = {
  name: 'agents',
  command: 'node',
  args: ['troupe.cjs'],
  env: { A: 'a' },
  tools: ['one'],
  callSeconds: 60
};

const surroundings: Surroundings = {
  request,
  inTerminal: true,
  environment: { HOME: '/home' },
  read: (path) => `text of ${path}`
};

function guarded(changes: object): CliEngine {
  const engine = guardEngine({ ...parts, ...changes });
  if (engine.kind !== 'cli') throw new Error('no program');
  return engine;
}

function connected(connection: unknown): Connection | undefined {
  const { connect } = guarded({ connect: () => connection });
  return connect?.(server, '/private', surroundings);
}

function faultOf(run: () => unknown): EngineFault {
  try {
    run();
  } catch (error) {
    if (error instanceof EngineFault) return error;
    throw error;
  }
  throw new Error('nothing was thrown');
}

function problemWith(changes: object): string | undefined {
  try {
    guardEngine({ ...parts, ...changes });
  } catch (error) {
    return problemOf(error);
  }
  return undefined;
}

describe('the worker part of an engine', () => {
  test.each([
    [{ connect: {} }, 'connect: must be a function'],
    [{ interactive: {} }, 'interactive.args: must be a function'],
    [
      { interactive: { args: () => [], env: { A: 'a' } } },
      'interactive.env: must be a function'
    ],
    [
      { interactive: { args: () => [], typesPrompt: 'yes' } },
      'interactive.typesPrompt: expected boolean, received string'
    ]
  ])('%j is refused with the name of the member', (changes, problem) => {
    expect(problemWith(changes)).toBe(`it is not an engine: ${problem}`);
  });

  test('is absent when the plugin does not declare it', () => {
    expect(guarded({})).not.toHaveProperty('connect');
    expect(guarded({})).not.toHaveProperty('interactive');
    const { interactive } = guarded({ interactive: { args: () => [] } });
    expect(interactive).not.toHaveProperty('env');
  });
});

describe('a connection', () => {
  test('passes unchanged', () => {
    const connection = {
      args: ['--config=/private/x.json', ''],
      env: { A: '' },
      files: { 'x.json': '{}', 'home/.x/한.json': '\0' },
      links: { home: '/home/me' }
    };
    expect(connected(connection)).toEqual(connection);
    expect(connected({ args: [], env: null })).toEqual({ args: [] });
  });

  test.each([
    [undefined, 'expected object, received undefined'],
    [{}, 'args: expected array, received undefined'],
    [{ args: ['a', 'b\0'] }, 'args[1]: holds a NUL character'],
    [{ args: [], env: { A: 1 } }, 'env.A: expected string, received number'],
    [{ args: [], files: { a: {} } }, 'files.a: expected string, received'],
    [{ args: [], links: { a: '' } }, 'links.a: must be an absolute path'],
    [{ args: [], links: { a: '~/x' } }, 'links.a: must be an absolute path']
  ])('%j is a fault that names its member', (connection, problem) => {
    const { message, failure } = faultOf(() => connected(connection));
    expect(message).toContain(
      `The plugin mine is at fault: connect returned an invalid value: ${problem}`
    );
    expect(failure.code).toBe('spawn_failed');
  });

  test.each(['', '.', '..', '../x', 'a/../../x', '/etc/x', 'a//x', 'a/'])(
    'writes nothing under the name "%s"',
    (name) => {
      for (const member of ['files', 'links']) {
        const { message } = faultOf(() =>
          connected({ args: [], [member]: { [name]: '/text' } })
        );
        expect(message).toContain('must be a name inside the directory');
      }
    }
  );

  test.each(['..\\x', 'C:\\x', 'a\nb', 'a\0b'])(
    'writes nothing under a name of another system: %j',
    (name) => {
      const files = { [name]: 'text' };
      expect(faultOf(() => connected({ args: [], files })).message).toContain(
        'must be a name inside the directory'
      );
    }
  );

  test('receives copies, and is called as a method of its plugin', () => {
    const mine = {
      ...parts,
      flag: '--mine',
      connect(
        received: McpServer,
        directory: string,
        { request: asked, inTerminal, environment, read }: Surroundings
      ) {
        received.args.push('more');
        received.env.A = 'other';
        asked.prompt = 'other';
        Object.assign(environment, { HOME: 'other' });
        return {
          args: [this.flag, directory, String(inTerminal), read('/x') ?? '']
        };
      }
    };
    const engine = guardEngine(mine);
    const before = structuredClone(server);
    const connection =
      engine.kind === 'cli'
        ? engine.connect?.(server, '/private', surroundings)
        : undefined;
    expect(connection?.args).toEqual([
      '--mine',
      '/private',
      'true',
      'text of /x'
    ]);
    expect(server).toEqual(before);
    expect(surroundings.environment).toEqual({ HOME: '/home' });
  });

  test('that throws is a fault with the message of the plugin', () => {
    const { connect } = guarded({
      connect: () => {
        throw new Error('no such\nthing');
      }
    });
    expect(
      faultOf(() => connect?.(server, '/private', surroundings)).message
    ).toBe('The plugin mine is at fault: connect threw: no such thing.');
  });
});

describe('a program in a terminal', () => {
  test('is started with exactly the arguments and variables of the plugin', () => {
    const interactive = {
      own: '-i',
      args({ prompt }: EngineRequest) {
        return [this.own, prompt];
      },
      env: () => ({ A: '1' }),
      typesPrompt: false
    };
    const engine = guarded({ interactive });
    expect(engine.interactive?.args(request)).toEqual(['-i', 'p']);
    expect(engine.interactive?.env?.(request)).toEqual({ A: '1' });
    expect(engine.interactive?.typesPrompt).toBe(false);
  });

  test.each([
    [{ args: () => [7] }, 'interactive.args returned an invalid value'],
    [
      { args: () => [], env: () => ({ 'A=B': '' }) },
      'interactive.env returned an invalid value'
    ],
    [
      {
        args: () => {
          throw new Error('x');
        }
      },
      'interactive.args threw: x.'
    ]
  ])('is not started when the plugin is at fault', (interactive, problem) => {
    const engine = guarded({ interactive });
    const start = () => [
      engine.interactive?.args(request),
      engine.interactive?.env?.(request)
    ];
    expect(faultOf(start).message).toContain(problem);
  });
});
