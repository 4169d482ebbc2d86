import assert from 'node:assert/strict';
import { enforcementOf } from '../../src/core/engines/engine-registry.ts';
import { inheritedVariables } from '../../src/core/engines/environment.ts';
import { guardEngine } from '../../src/core/engines/load/guard-engine.ts';
import { toolNameOf } from '../../src/interfaces/mcp/tool/spawn-tool-name.ts';
import type { CliEngine, Engine } from '../../src/plugin/plugin.ts';
import { type Check, marked } from './check.ts';
import { requestWith, startOf } from './requests.ts';

/** What an engine says of itself. */
export function declarationChecks(engine: Engine): Check[] {
  const guarded = guardEngine(engine);
  return [
    {
      title: 'has a name and a description that fit a tool',
      run: () => {
        assert.ok(toolNameOf(engine).length <= 32, 'the tool name is too long');
        assert.doesNotMatch(engine.name, /--|-$/, 'an odd dash in the name');
        assert.match(engine.description, /\S/, 'the description is blank');
      }
    },
    {
      title: 'is plain data and functions',
      run: () => assertPlain(engine, engine.name)
    },
    {
      title: 'has aliases that lead to a model at once',
      run: () => {
        const { aliases = {}, retired = {} } = engine.models ?? {};
        const known = { ...retired, ...aliases };
        for (const [alias, model] of Object.entries(known))
          assert.ok(
            !Object.hasOwn(known, model) || known[model] === model,
            `the alias ${alias} leads to ${model}, which is an alias again`
          );
      }
    },
    {
      title: 'has a time limit for every prompt',
      run: () => {
        const limit = guarded.timeoutSeconds;
        if (typeof limit !== 'function') return;
        for (const prompt of prompts)
          assert.equal(limit(prompt), limit(prompt));
      }
    },
    {
      title: 'reads any text of a failure',
      run: () => {
        for (const text of prompts) guarded.failure?.(text);
      }
    },
    ...(engine.kind === 'cli'
      ? [
          ...accessChecks(engine),
          ...chatChecks(engine),
          ...switchChecks(engine)
        ]
      : [])
  ];
}

const prompts = [
  '',
  'x',
  'run the tests',
  '\0\u2028\ud800',
  'é'.repeat(500_000)
];

function accessChecks(engine: CliEngine): Check[] {
  return [
    {
      title: 'enforces the access it says it enforces',
      run: () => {
        const full = startOf(engine, requestWith({ access: 'full' }));
        for (const access of ['read', 'write'] as const) {
          if (enforcementOf(engine, access) !== 'enforced') continue;
          // What has no tools at all needs no limit.
          const tools = engine.tools?.(access);
          if (tools !== undefined && tools === engine.tools?.('full')) continue;
          assert.notDeepEqual(
            startOf(engine, requestWith({ access })),
            full,
            `access.${access} is "enforced", but it is started as with full access; "tools" says so where there is nothing to limit`
          );
        }
      }
    },
    {
      title: 'names its tools for every access',
      run: () => {
        const guarded = guardEngine(engine);
        if (guarded.kind !== 'cli') return;
        for (const access of ['read', 'write', 'full'] as const)
          guarded.tools?.(access);
      }
    },
    {
      title: 'reads any answer about its login',
      run: () => {
        const read = engine.probe?.login?.read;
        for (const said of [...prompts, marked('{"loggedIn":')])
          for (const exitCode of [0, 1, 127]) {
            const output = { exitCode, stdout: said, stderr: said };
            const state = read?.(output) ?? 'unknown';
            assert.ok(
              ['logged in', 'not logged in', 'unknown'].includes(state)
            );
          }
      }
    }
  ];
}

function chatChecks({ command, createChat }: CliEngine): Check[] {
  if (!createChat) return [];
  return [
    {
      title: 'makes a chat by arguments of its program',
      run: () =>
        assert.notEqual(
          createChat[0],
          command,
          `createChat begins with ${command}, which is the program itself; give its arguments alone`
        )
    }
  ];
}

/** Credentials of a cloud, and what turns it on. */
function switchChecks(engine: CliEngine): Check[] {
  const switches = Object.entries(engine.env?.keepIf ?? {});
  if (switches.length === 0) return [];
  return [
    {
      title: 'gets what env.keepIf names while its switch is on, only then',
      run: () => {
        for (const [name, patterns] of switches)
          for (const pattern of patterns) assertSwitched(engine, name, pattern);
      }
    }
  ];
}

function assertSwitched(
  { env }: CliEngine,
  name: string,
  pattern: string
): void {
  const variable = pattern.replace(/\*$/, marked('X'));
  const given = (value?: string) =>
    inheritedVariables(env, {}, { [variable]: 'x', [name]: value });
  assert.match(name, /^[A-Za-z_]\w*$/, 'a switch is the name of a variable');
  const isKept = env?.keep?.includes(pattern) === true;
  for (const off of [undefined, '', '0', 'false'])
    assert.ok(
      isKept || !(variable in given(off)),
      `${variable} is handed on while ${name} is ${off}; is it in the allow-list?`
    );
  for (const wanted of [variable, name])
    assert.ok(
      wanted in given('1'),
      `${wanted} is not handed on: is it dropped?`
    );
}

function assertPlain(value: unknown, path: string): void {
  if (typeof value === 'function') return;
  if (typeof value !== 'object' || value === null) return;
  const prototype: unknown = Object.getPrototypeOf(value);
  const isPlain =
    prototype === null ||
    prototype === Object.prototype ||
    prototype === Array.prototype;
  assert.ok(isPlain, `${path} is an instance of a class`);
  for (const [key, inner] of Object.entries(value))
    assertPlain(inner, `${path}.${key}`);
}
