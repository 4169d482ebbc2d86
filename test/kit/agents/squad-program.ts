import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { TempWorkspace } from '../workspaces/temp-workspace.ts';

/** One call of the stand-in, as its process got it. */
export interface SquadCall {
  argv: string[];
  cwd: string;
  stdin: string;
  env: Record<string, string>;
  /** Milliseconds since the epoch. */
  began: number;
  /** Undefined while it runs, and when it was killed. */
  ended?: number;
}

/**
 * A program `squaddie` for templates. It writes down how it was called, does
 * what its argument or stdin asks for and says so:
 *
 * [[sleep MS]] waits, [[exit N]] ends so, [[say TEXT]], [[err TEXT]] on stderr,
 * [[chars N]] so many characters; else it says "done".
 */
export function squadProgram(workspace: TempWorkspace, name = 'squaddie') {
  const file = workspace.program(name, program);
  return {
    file,
    calls: (): SquadCall[] =>
      readdirSync(workspace.bin)
        .filter((entry) => entry.startsWith(`${name}.call-`))
        .map((entry) =>
          JSON.parse(readFileSync(join(workspace.bin, entry), 'utf8'))
        )
        .sort((a, b) => a.began - b.began)
  };
}

const program = `
const fs = require('node:fs');
const file = __filename + '.call-' + process.pid + '-' + Date.now();
const stdin = fs.readFileSync(0, 'utf8');
const { argv, env } = process;
const call = { argv: argv.slice(2), cwd: process.cwd(), stdin, env, began: Date.now() };
const note = () => {
  fs.writeFileSync(file.replace('.call-', '.draft-'), JSON.stringify(call));
  fs.renameSync(file.replace('.call-', '.draft-'), file);
};
note();
const words = [...call.argv, stdin].join(' ');
const asked = (what) => new RegExp('\\\\[\\\\[' + what + ' ([^\\\\]]*)\\\\]\\\\]').exec(words)?.[1];
setTimeout(() => {
  const chars = Number(asked('chars') ?? 0);
  const said = chars > 0 ? 'x'.repeat(chars) : (asked('say') ?? 'done');
  fs.writeFileSync(1, said + '\\n');
  const err = asked('err');
  if (err !== undefined) fs.writeFileSync(2, err + '\\n');
  call.ended = Date.now();
  note();
  process.exitCode = Number(asked('exit') ?? 0);
}, Number(asked('sleep') ?? 0));
`;
