import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { TempWorkspace } from '../kit/workspaces/temp-workspace.ts';
import { type Json, record } from '../model-server/json.ts';

/** What a client and our server said to each other. */
export interface Wiretap {
  /** The program that listens, and its arguments before our server's. */
  through: string[];
  /** Every message so far, in order. */
  heard: () => Message[];
  /** A variable as our server had it. */
  variable: (name: string) => unknown;
}

export interface Message {
  from: 'client' | 'server';
  id?: unknown;
  method?: unknown;
  params: Json;
  result: Json;
}

/** Puts a program in place that passes every line on and notes it. */
export function addWiretap(workspace: TempWorkspace): Wiretap {
  const notes = join(workspace.home, 'wiretap.jsonl');
  const program = workspace.program('wiretap.cjs', source);
  const read = () =>
    readFileSync(notes, 'utf8')
      .split('\n')
      .slice(0, -1)
      .map((line) => record(JSON.parse(line)));
  return {
    through: [program, notes],
    heard: () =>
      read().flatMap(({ from, message }) => {
        if (from !== 'client' && from !== 'server') return [];
        const { id, method, params, result } = record(message);
        const rest = { params: record(params), result: record(result) };
        return [{ from, id, method, ...rest }];
      }),
    variable: (name) =>
      read().map(({ environment }) => record(environment)[name])[0]
  };
}

const source = `
const { spawn } = require('node:child_process');
const { appendFileSync } = require('node:fs');
const { createInterface } = require('node:readline');
const [notes, ...args] = process.argv.slice(2);
const note = (fact) => appendFileSync(notes, JSON.stringify(fact) + '\\n');
note({ environment: process.env });
const server = spawn(process.execPath, args, {
  stdio: ['pipe', 'pipe', 'inherit']
});
const pass = (from, input, output) => {
  createInterface({ input })
    .on('line', (line) => {
      note({ from, message: JSON.parse(line) });
      output.write(line + '\\n');
    })
    .on('close', () => output.end());
};
pass('client', process.stdin, server.stdin);
pass('server', server.stdout, process.stdout);
server.stdin.on('error', () => {});
for (const signal of ['SIGTERM', 'SIGINT'])
  process.on(signal, () => server.kill(signal));
server.on('exit', () => process.exit());
`;
