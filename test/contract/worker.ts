import assert from 'node:assert/strict';
import { enforcementOf } from '../../src/core/engines/engine-registry.ts';
import { guardEngine } from '../../src/core/engines/load/guard-engine.ts';
import type {
  Access,
  CliEngine,
  EngineRequest,
  Interactive,
  McpServer,
  Surroundings
} from '../../src/plugin/plugin.ts';
import { type Check, frozen, marked } from './check.ts';
import { requests, requestWith } from './requests.ts';

/** How an engine is a worker, where it says that it can be one. */
export function workerChecks(engine: CliEngine): Check[] {
  const { connect, interactive, workerAliases } = engine;
  return [
    ...(workerAliases ? [aliasCheck(engine, workerAliases)] : []),
    ...(connect ? connectChecks(engine, connect) : []),
    ...(interactive ? terminalChecks(engine, interactive) : []),
    ...(connect || interactive
      ? [
          {
            title: 'gives a worker what a process and a directory can take',
            run: () => assertGuarded(engine)
          }
        ]
      : [])
  ];
}

function aliasCheck({ name, connect }: CliEngine, aliases: string[]): Check {
  return {
    title: 'has worker aliases that lead to it',
    run: () => {
      assert.ok(connect, 'workerAliases needs "connect"');
      assert.ok(!aliases.includes(name), `the alias ${name} is its own name`);
      assert.equal(new Set(aliases).size, aliases.length, 'an alias is twice');
    }
  };
}

type Connect = NonNullable<CliEngine['connect']>;

function connectChecks({ asks }: CliEngine, connect: Connect): Check[] {
  const all = () => places().map((place) => connect(...place));
  /** Of a program that does not get its server by the protocol. */
  const given = () =>
    places()
      .filter(([, , { request }]) => !(request.asks && asks?.acp))
      .map((place) => connect(...place));
  return [
    {
      title: 'connects the same way each time, and leaves all as it was',
      run: () => assert.deepEqual(all(), all())
    },
    {
      title: 'passes on all of the server it is given',
      run: () => {
        for (const { args, env, files } of given()) {
          const words = [...args, ...valuesOf(env), ...valuesOf(files)].join();
          const { command, args: more, tools } = server;
          for (const word of [
            command,
            ...more,
            ...tools,
            ...valuesOf(server.env)
          ])
            assert.ok(
              words.includes(word),
              `${word} does not reach the program`
            );
        }
      }
    },
    {
      title: 'puts no variable of the server into arguments',
      run: () => {
        for (const { args } of all())
          for (const word of args)
            for (const secret of valuesOf(server.env))
              assert.ok(
                !word.includes(secret),
                `a variable is in "${word}", which everybody on the machine can read`
              );
      }
    },
    {
      title: 'connects whatever the settings of the user are',
      run: () => {
        for (const text of ['', '{', '[]', 'null', '\uFEFF{}', '\0'])
          for (const [given, directory, around] of places())
            connect(given, directory, frozen({ ...around, read: () => text }));
      }
    }
  ];
}

function terminalChecks(
  engine: CliEngine,
  { args, env, typesPrompt }: Interactive
): Check[] {
  const start = (request: EngineRequest) => [args(request), env?.(request)];
  return [
    {
      title: 'starts in a terminal the same way each time',
      run: () => assert.deepEqual(requests().map(start), requests().map(start))
    },
    {
      title: 'takes its prompt in a terminal as it says',
      run: () => {
        for (const prompt of prompts)
          for (const request of requests()) {
            const words = args({ ...request, prompt });
            const has = words.some((word) => word.includes(prompt));
            assert.equal(
              has,
              typesPrompt !== true,
              typesPrompt
                ? 'the prompt is in the arguments, though it will be typed'
                : `no argument holds the prompt ${JSON.stringify(prompt)} as it is`
            );
          }
      }
    },
    {
      title: 'enforces its access in a terminal, too',
      run: () => {
        const by = (access: Access) => start(requestWith({ access }));
        for (const access of ['read', 'write'] as const) {
          if (enforcementOf(engine, access) !== 'enforced') continue;
          const tools = engine.tools?.(access);
          if (tools !== undefined && tools === engine.tools?.('full')) continue;
          assert.notDeepEqual(
            by(access),
            by('full'),
            `access.${access} is "enforced", but it is started in a terminal as with full access`
          );
        }
      }
    }
  ];
}

const prompts = [
  'é 日本語 👩‍💻',
  'two\nlines\n',
  `"quotes" 'and' \`ticks\` $HOME $(id) %PATH% \\ {{x}}`
];

function assertGuarded(engine: CliEngine): void {
  const guarded = guardEngine(engine);
  if (guarded.kind !== 'cli') return;
  for (const place of places()) guarded.connect?.(...place);
  for (const request of requests()) {
    guarded.interactive?.args(request);
    guarded.interactive?.env?.(request);
  }
}

const server: McpServer = frozen({
  name: 'agents',
  command: `/${marked('command')}`,
  args: [marked('first'), marked('second')],
  env: { [marked('NAME')]: marked('secret') },
  tools: [marked('wait'), marked('emit')],
  callSeconds: 90
});

/** Whatever may be around a worker; changing any of it throws. */
function places(): [McpServer, string, Surroundings][] {
  return requests().flatMap((request) =>
    [true, false].flatMap((inTerminal) =>
      [undefined, '{}'].map((text): [McpServer, string, Surroundings] => [
        server,
        '/private',
        frozen({
          request,
          inTerminal,
          environment: { HOME: '/home', PATH: '/bin' },
          read: () => text
        })
      ])
    )
  );
}

function valuesOf(record: Record<string, string> = {}): string[] {
  return Object.values(record);
}
