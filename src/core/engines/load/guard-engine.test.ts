import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type {
  ApiTools,
  CliEngine,
  EngineRequest,
  Reply
} from '../../../plugin/plugin.ts';
import { EngineFault, failureCodes } from '../failures.ts';
import { guardEngine } from './guard-engine.ts';

const parts = {
  kind: 'cli',
  name: 'mine',
  description: 'Mine.',
  command: 'mine',
  args: () => []
};

const request: EngineRequest = {
  prompt: 'p',
  access: 'read',
  cwd: '/',
  asRoot: false
};

function guarded(changes: object): CliEngine {
  const engine = guardEngine({ ...parts, ...changes });
  if (engine.kind !== 'cli') throw new Error('no program');
  return engine;
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

test('valid members and results pass unchanged', () => {
  const reply = { text: 't', finished: true, denials: ['a'], own: 1 };
  const engine = guarded({
    args: () => ['-a', '', 'é\n'],
    stdin: () => '',
    tools: () => 'all',
    timeoutSeconds: () => 0,
    env: { keep: ['A'], set: () => ({ A: '' }) },
    failure: () => null,
    read: () => reply
  });
  expect(engine.args(request)).toEqual(['-a', '', 'é\n']);
  expect(engine.stdin?.(request)).toBe('');
  expect(engine.tools?.('read')).toBe('all');
  expect(engine.timeoutSeconds).toBeTypeOf('function');
  expect(engine.env?.keep).toEqual(['A']);
  expect(engine.env?.set?.(request)).toEqual({ A: '' });
  expect(engine.failure?.('x')).toBeUndefined();
  expect(engine.read?.({ text: '', finished: false }, {})).toEqual(reply);
});

test('null counts as an absent value, as in JSON', () => {
  const read = () => ({
    text: '',
    finished: false,
    sessionId: null,
    own: null
  });
  const reply = guarded({ read }).read?.({ text: '', finished: true }, {});
  expect(reply).toStrictEqual({
    text: '',
    finished: false,
    sessionId: undefined,
    own: null
  });
});

test('an absent member stays absent', () => {
  expect(Object.keys(guarded({})).sort()).toEqual(Object.keys(parts).sort());
});

test("functions are called as methods and reach the plugin's private members", () => {
  class Mine {
    readonly kind = 'cli';
    readonly name = 'mine';
    readonly description = 'x';
    readonly command = 'x';
    readonly #flag = '--hidden';
    args() {
      return [this.#flag];
    }
  }
  const engine = guardEngine(Object.freeze(new Mine()));
  expect(engine.kind === 'cli' && engine.args(request)).toEqual(['--hidden']);
});

test('a plugin that changes itself or its arguments has no effect', () => {
  const mine = {
    ...parts,
    models: { aliases: { a: 'b' } },
    args: (received: EngineRequest) => {
      received.prompt = 'other';
      mine.name = 'other';
      mine.models.aliases.a = 'other';
      mine.command = 'other';
      return [];
    }
  };
  const engine = guardEngine(mine);
  const frozen = Object.freeze({ ...request });
  for (const _ of [1, 2])
    expect(engine.kind === 'cli' && engine.args(frozen)).toEqual([]);
  expect(engine.name).toBe('mine');
  expect(engine.models?.aliases?.a).toBe('b');
});

test('a fault names the plugin, the member and the problem', () => {
  const engine = guarded({
    args: () => [undefined],
    stdin: () => {
      throw new Error('  two\n lines ');
    },
    read: () => Promise.reject(new Error('later'))
  });
  const { message, failure } = faultOf(() => engine.args(request));
  expect(message).toBe(
    'The plugin mine is at fault: args returned an invalid value: [0]: expected string, received undefined.'
  );
  expect(failure).toEqual({ code: 'spawn_failed', message });
  expect(faultOf(() => engine.stdin?.(request)).message).toBe(
    'The plugin mine is at fault: stdin threw: two lines.'
  );
  const read = () => engine.read?.({ text: '', finished: false }, {});
  expect(faultOf(read).failure.code).toBe('bad_output');
});

test.each([-0.5, 1e21])(
  'a cost of %d is a fault, as no outcome or page could show it',
  (costUsd) => {
    const engine = guarded({ read: (reply: Reply) => ({ ...reply, costUsd }) });
    const read = () => engine.read?.({ text: '', finished: true }, {});
    expect(faultOf(read).failure).toEqual({
      code: 'bad_output',
      message: expect.stringContaining(
        'read returned an invalid value: costUsd: '
      )
    });
  }
);

test('a result with throwing members is a fault', () => {
  const engine = guarded({
    read: () => ({
      finished: true,
      get text() {
        throw new Error('got you');
      }
    })
  });
  const read = () => engine.read?.({ text: '', finished: false }, {});
  expect(faultOf(read).message).toContain('got you');
});

test('a login check that fails reports an unknown state', () => {
  const output = { exitCode: 0, stdout: '', stderr: '' };
  const stateBy = (read: () => unknown) =>
    guarded({ probe: { login: { args: [], read } } }).probe?.login?.read(
      output
    );
  expect(stateBy(() => 'logged in')).toBe('logged in');
  expect(stateBy(() => 'yes')).toBe('unknown');
  expect(
    stateBy(() => {
      throw new Error('x');
    })
  ).toBe('unknown');
});

test('output of a member does not reach stdout', () => {
  const written: unknown[] = [];
  const { write } = process.stdout;
  process.stdout.write = (text: unknown) => written.push(text) > 0;
  try {
    const engine = guarded({
      args: () => {
        process.stdout.write('printed');
        return [];
      }
    });
    engine.args(request);
    process.stdout.write('ours');
  } finally {
    process.stdout.write = write;
  }
  expect(written).toEqual(['ours']);
});

test('an API keeps its own errors, and only known members of its reply', async () => {
  const tools: ApiTools = {
    apiKey: 'k',
    signal: new AbortController().signal,
    fetch,
    onText: () => undefined
  };
  const question = { prompt: 'p', model: 'm', turns: [], stream: true };
  const ask = (generate: () => unknown) => {
    const engine = guardEngine({
      ...parts,
      kind: 'api',
      keyNames: [],
      generate
    });
    if (engine.kind !== 'api') throw new Error('no API');
    return engine.generate(question, tools);
  };
  const own = new Error('own');
  await expect(ask(() => Promise.reject(own))).rejects.toBe(own);
  await expect(ask(() => ({}))).rejects.toThrow(
    /generate returned an invalid value.*text/
  );
  const reply = { text: 't', sessionId: '../..', own: 1n };
  expect(await ask(() => reply)).toEqual({ text: 't' });
});

test('the failure codes match the contract', () => {
  const contract = readFileSync(
    join(import.meta.dirname, '../../../plugin/reply.ts'),
    'utf8'
  );
  const union = /export type FailureCode =([^;]*);/.exec(contract)?.[1] ?? '';
  const codes = [...union.matchAll(/'(\w+)'/g)].map(([, code]) => code);
  expect(failureCodes).toEqual(codes);
});
