import { spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { rolldown } from 'rolldown';

const core = join(import.meta.dirname, '../../../src/core');

/** From the start of the contestants to their common first round. */
const headStartMs = 700;

/** Several real processes that do the same thing at the same moment. */
export interface Contest {
  /** An empty directory for one run. */
  arena: (name: string) => string;
  /**
   * Runs a CommonJS program in each process, with `pieces` (ours), `arena`,
   * `me` and `rounds` defined, `atRound(n)` to meet the other processes and
   * `pause()` to widen a gap. It calls `tell(list)` at its end. @returns the
   * list of each process
   */
  run: (
    program: string,
    arena: string,
    processes: number,
    rounds: number
  ) => Promise<string[][]>;
  remove: () => void;
}

/** Bundles pieces of the core so that plain node processes can use them. */
export async function createContest(pieces: string[]): Promise<Contest> {
  const base = mkdtempSync(join(tmpdir(), 'troupe-contest-'));
  const entry = join(base, 'pieces.ts');
  const bundle = join(base, 'pieces.cjs');
  writeFileSync(
    entry,
    pieces
      .map((piece) => `export * from ${JSON.stringify(join(core, piece))};\n`)
      .join('')
  );
  const build = await rolldown({ input: entry, platform: 'node' });
  await build.write({ file: bundle, format: 'cjs' });
  await build.close();
  return {
    arena: (name) => {
      const directory = join(base, name);
      mkdirSync(directory);
      return directory;
    },
    run: (program, arena, processes, rounds) => {
      const file = join(arena, 'contestant.cjs');
      writeFileSync(file, `${preamble(bundle)}\n${program}`);
      const start = Date.now() + headStartMs;
      const given = [arena, String(rounds), String(start)];
      return Promise.all(
        Array.from({ length: processes }, (_, index) =>
          told([file, String(index), ...given])
        )
      );
    },
    remove: () => rmSync(base, { recursive: true, force: true })
  };
}

/** Rounds begin on the clock: a late process makes no race. */
function preamble(bundle: string): string {
  return `
const fs = require('node:fs');
const { join } = require('node:path');
const pieces = require(${JSON.stringify(bundle)});
const [me, arena, ...numbers] = process.argv.slice(2);
const [rounds, start] = numbers.map(Number);
const atRound = (round) => { while (Date.now() < start + 4 * round); };
const nothing = new Int32Array(new SharedArrayBuffer(4));
const pause = () => Atomics.wait(nothing, 0, 0, 1);
const tell = (list) => process.stdout.write(JSON.stringify(list));
`;
}

function told(args: string[]): Promise<string[]> {
  const child = spawn(process.execPath, args, {
    stdio: ['ignore', 'pipe', 'inherit']
  });
  let text = '';
  child.stdout.on('data', (chunk) => {
    text += String(chunk);
  });
  return new Promise((resolve, reject) => {
    child.once('close', (code) => {
      if (code === 0) resolve(listIn(text));
      else reject(new Error(`A contestant ended with ${code}`));
    });
  });
}

function listIn(text: string): string[] {
  const list: unknown = JSON.parse(text);
  return Array.isArray(list) ? list.map(String) : [];
}
