import type { McpServer, Surroundings } from '../../../src/plugin/plugin.ts';
import { program } from './right-engines.ts';

let calls = 0;

/** A worse way to be a worker, the test that fails, and what it says. */
export const wrongWorkers: [string, object, string, RegExp][] = [
  [
    'a connection that differs each time',
    {
      connect: () => {
        calls += 1;
        return { args: [String(calls)] };
      }
    },
    'connects the same way',
    /./
  ],
  [
    'a server that is changed',
    {
      connect: (server: McpServer) => {
        server.args.push('more');
        return { args: [JSON.stringify(server)] };
      }
    },
    'connects the same way',
    /./
  ],
  [
    'a server whose variables are lost',
    {
      connect: ({ env, ...server }: McpServer) => ({
        args: [],
        files: { 'server.json': JSON.stringify(server) }
      })
    },
    'passes on all of the server',
    /secret\w+ does not reach/
  ],
  [
    'a variable in argv',
    { connect: (server: McpServer) => ({ args: [JSON.stringify(server)] }) },
    'puts no variable',
    /everybody on the machine/
  ],
  [
    'settings that must be JSON',
    {
      connect: (server: McpServer, _: string, { read }: Surroundings) => ({
        args: [],
        files: { a: JSON.stringify([server, JSON.parse(read('/x') ?? '{}')]) }
      })
    },
    'connects whatever the settings',
    /JSON/
  ],
  [
    'a file elsewhere',
    {
      connect: (server: McpServer) => ({
        args: [],
        files: { '../mcp.json': JSON.stringify(server) }
      })
    },
    'gives a worker what',
    /connect .*inside the directory/
  ],
  [
    'an alias that is its own name',
    { workerAliases: [program.name] },
    'has worker aliases',
    /is its own name/
  ],
  [
    'an alias of an engine that cannot be a worker',
    { connect: undefined, workerAliases: ['other'] },
    'has worker aliases',
    /needs "connect"/
  ],
  [
    'a NUL in the terminal',
    { interactive: { args: () => ['\0'] } },
    'gives a worker what',
    /interactive\.args .*NUL/
  ],
  [
    'a start in a terminal that differs each time',
    {
      interactive: {
        args: () => {
          calls += 1;
          return [String(calls)];
        }
      }
    },
    'starts in a terminal',
    /./
  ],
  [
    'a prompt that is trimmed in a terminal',
    {
      interactive: {
        args: ({ prompt }: { prompt: string }) => [prompt.trim()]
      }
    },
    'takes its prompt',
    /no argument holds/
  ],
  [
    'a prompt that is given, and typed',
    { interactive: { ...program.interactive, typesPrompt: true } },
    'takes its prompt',
    /will be typed/
  ],
  [
    'a limit that is left out in a terminal',
    { interactive: { args: ({ prompt }: { prompt: string }) => [prompt] } },
    'enforces its access in a terminal',
    /access\.read is "enforced"/
  ]
];
