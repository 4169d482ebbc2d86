import assert from 'node:assert/strict';
import { guardEngine } from '../../src/core/engines/load/guard-engine.ts';
import type { CliEngine, EngineRequest } from '../../src/plugin/plugin.ts';
import { type Check, marked } from './check.ts';
import { requests, requestWith, startOf, stdinOf } from './requests.ts';

/** How an engine starts its program. */
export function startChecks(engine: CliEngine): Check[] {
  return [
    {
      title:
        'makes the same start of the same request, and leaves it as it was',
      run: () => {
        const first = requests().map((request) => startOf(engine, request));
        const again = requests().map((request) => startOf(engine, request));
        assert.deepEqual(again, first);
      }
    },
    {
      title: 'gives arguments, input and variables that a process can take',
      run: () => {
        const guarded = guardEngine(engine);
        if (guarded.kind !== 'cli') return;
        for (const request of requests()) startOf(guarded, request);
      }
    },
    {
      title: 'keeps the prompt out of arguments and variables',
      run: () => {
        for (const request of requests()) {
          const { args, env } = startOf(engine, request);
          for (const word of [...args, ...Object.values(env)])
            assert.ok(
              !word.includes(request.prompt),
              `the prompt is in "${word}"; it belongs into stdin`
            );
        }
      }
    },
    {
      title: 'gives the prompt on stdin, byte for byte',
      run: () => {
        for (const prompt of prompts)
          for (const request of requests()) {
            const stdin = stdinOf(engine, { ...request, prompt });
            const asJson = JSON.stringify(prompt);
            assert.ok(
              stdin.includes(prompt) || stdin.includes(asJson),
              `stdin does not hold the prompt ${asJson.slice(0, 40)} as it is`
            );
          }
      }
    },
    {
      title: 'passes a system prompt on',
      run: () => {
        for (const sessionId of [undefined, marked('session')])
          assertReaches(engine, 'systemPrompt', marked('brief'), {
            ...(sessionId === undefined ? {} : { sessionId })
          });
      }
    },
    {
      title: 'keeps every argument within the 128 KiB of Linux',
      run: () => {
        const systemPrompt = 'é'.repeat(100_000);
        const start = startOf(engine, requestWith({ systemPrompt }));
        const words = [...start.args, ...Object.values(start.env)];
        for (const word of words)
          assert.ok(
            Buffer.byteLength(word) < 131_072,
            `${word.slice(0, 40)}… has ${Buffer.byteLength(word)} bytes; give long system prompts on stdin`
          );
      }
    },
    {
      title: 'puts no key of the environment into arguments or input',
      run: () => assertNoKeys(engine)
    },
    {
      title: 'keeps each value of a request within one argument',
      run: () => {
        for (const field of ['model', 'sessionId', 'newSessionId'] as const)
          assertOneArgument(engine, field, marked(field), odd);
        const cwd = inDirectory(marked('cwd'));
        assertOneArgument(engine, 'cwd', cwd, odd.map(inDirectory));
      }
    },
    ...(engine.models?.aliases
      ? [
          {
            title: 'passes a model on',
            run: () => assertReaches(engine, 'model', marked('model'))
          }
        ]
      : []),
    ...(engine.resumes ? [resumeCheck(engine)] : []),
    ...(engine.takesSessionId
      ? [
          {
            title: 'gives a new session the id of the request',
            run: () => assertReaches(engine, 'newSessionId', marked('new'))
          }
        ]
      : [])
  ];
}

const prompts = [
  'é 日本語 👩‍💻 \u2028',
  '--help',
  '-',
  ' \t leading and trailing \r\n\r\n',
  `"quotes" 'and' \`ticks\` $HOME $(id) %PATH% \\ {{x}} <% y %>`,
  'x'.repeat(1024 * 1024)
];

const odd = [
  '-x',
  '--flag',
  'two words',
  `"q" 'q' \\`,
  '$(id) `id` $HOME',
  'new\nline',
  '; exit',
  'a=b,c',
  ''.padEnd(200, 'long')
];

function inDirectory(name: string): string {
  return `/${name}`;
}

function assertReaches(
  engine: CliEngine,
  field: 'model' | 'systemPrompt' | 'sessionId' | 'newSessionId',
  value: string,
  changes: Partial<EngineRequest> = {}
): void {
  const start = startOf(engine, requestWith({ ...changes, [field]: value }));
  const words = [...start.args, start.stdin, ...Object.values(start.env)];
  assert.ok(
    words.some((word) => word.includes(value)),
    `${field} reaches the program neither by arguments, stdin nor variables`
  );
}

function resumeCheck(engine: CliEngine): Check {
  return {
    title: 'continues the session it is given, which never becomes a flag',
    run: () => {
      assertReaches(engine, 'sessionId', marked('session'));
      const sessionId = '-session';
      const { args } = startOf(engine, requestWith({ sessionId }));
      const at = args.indexOf(sessionId);
      const end = args.indexOf('--');
      assert.ok(
        at < 0 || (end >= 0 && end < at),
        'a session id that begins with "-" would be a flag; join it to its option with "=", or put "--" before it'
      );
    }
  };
}

/** A value may be quoted in its argument, but nothing around it changes. */
function assertOneArgument(
  engine: CliEngine,
  field: 'model' | 'sessionId' | 'newSessionId' | 'cwd',
  plain: string,
  values: string[]
): void {
  const usual = engine.args(requestWith({ [field]: plain }));
  for (const value of values) {
    const args = engine.args(requestWith({ [field]: value }));
    const told = `${field} ${JSON.stringify(value)}`;
    assert.equal(args.length, usual.length, `${told} changes the arguments`);
    for (const [index, word] of usual.entries()) {
      const got = args[index] ?? '';
      if (!word.includes(plain)) assert.equal(got, word, `${told} is in two`);
      else if (word === plain) assert.equal(got, value, `${told} is changed`);
      else {
        const [before = '', after = ''] = word.split(plain);
        assert.ok(
          got.startsWith(before) && got.endsWith(after),
          `${told} breaks out of "${word}"`
        );
      }
    }
  }
}

/** Keys are for the program's environment; arguments show in `ps`. */
function assertNoKeys(engine: CliEngine): void {
  const { keep = [], keepIf = {} } = engine.env ?? {};
  const names = [...keep, ...Object.values(keepIf).flat()].map((name) =>
    name.replace(/\*$/, 'API_KEY')
  );
  const before = names.map((name) => [name, process.env[name]] as const);
  try {
    for (const name of names) process.env[name] = marked('key');
    for (const request of requests()) {
      const { args, stdin } = startOf(engine, request);
      for (const word of [...args, stdin])
        assert.ok(!word.includes(marked('key')), `a key is in "${word}"`);
    }
  } finally {
    for (const [name, value] of before)
      if (value === undefined) delete process.env[name];
      else process.env[name] = value;
  }
}
