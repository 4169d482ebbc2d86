import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { TempWorkspace } from '../workspaces/temp-workspace.ts';

export interface Seen {
  argv: string[];
  env: Record<string, string>;
  cwd: string;
  stdin: Buffer;
}

export interface StandIn {
  /** What it puts out from now on, and how it exits. */
  says: (stdout: string | Buffer, exitCode?: number, stderr?: string) => void;
  /** How it was called last. */
  seen: () => Seen;
}

/** A program on PATH that records its calls and prints what the test sets. */
export function standIn(workspace: TempWorkspace, name: string): StandIn {
  const file = workspace.program(
    name,
    `const fs = require('node:fs');
    const own = (part) => ${JSON.stringify(join(workspace.bin, name))} + part;
    const stdin = fs.readFileSync(0).toString('base64');
    const { argv, env } = process;
    const seen = { argv: argv.slice(2), env, cwd: process.cwd(), stdin };
    fs.writeFileSync(own('.seen'), JSON.stringify(seen));
    fs.writeFileSync(1, fs.readFileSync(own('.stdout')));
    fs.writeFileSync(2, fs.readFileSync(own('.stderr')));
    process.exit(Number(fs.readFileSync(own('.exit'), 'utf8')));`
  );
  const says = (stdout: string | Buffer, exitCode = 0, stderr = '') => {
    writeFileSync(`${file}.stdout`, stdout);
    writeFileSync(`${file}.stderr`, stderr);
    writeFileSync(`${file}.exit`, String(exitCode));
    rmSync(`${file}.seen`, { force: true });
  };
  says('');
  return {
    says,
    seen: () => {
      const seen = JSON.parse(readFileSync(`${file}.seen`, 'utf8'));
      return { ...seen, stdin: Buffer.from(seen.stdin, 'base64') };
    }
  };
}
