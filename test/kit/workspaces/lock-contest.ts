import { type ChildProcess, spawn } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { rolldown } from 'rolldown';
import type { Random } from '../judges/random.ts';

const source = join(import.meta.dirname, '../../../src');
const pieces = [
  'core/state/locks/file-lock.ts',
  'adapters/child-process/processes.ts',
  'adapters/child-process/process-table.ts'
];

/** Real processes that want one lock, and do not all live to let go of it. */
export interface LockContest {
  /** An empty directory: `lock` and `lock.servers` are to be in it. */
  arena: (name: string) => string;
  /**
   * Starts a contender: a CommonJS program that has `lock` (ours), `wrong`
   * (one that looks first and removes then), `arena`, `me`, `rounds`,
   * `record(word)` and `maybeDie()`. `deaths`: how likely the latter is.
   */
  start: (
    arena: string,
    options?: Partial<Contender>
  ) => { child: ChildProcess; ended: Promise<number | string | null> };
  remove: () => void;
}

interface Contender {
  program: string;
  me: string;
  rounds: number;
  /** In thousandths. */
  deaths: number;
  /** A command that runs it: its words, in front of Node's. */
  under: string[];
}

/** Takes the lock again and again, and says when it is inside. */
export const contending = (lock: 'lock' | 'wrong') => `
(async () => {
  for (let round = 0; round < rounds; round += 1)
    await ${lock}.hold(() => {
      record('in');
      pause(1 + Math.floor(Math.random() * 3));
      maybeDie();
      record('out');
    });
  ${lock}.close();
})();`;

export async function createLockContest(): Promise<LockContest> {
  const base = mkdtempSync(join(tmpdir(), 'troupe-lock-'));
  const entry = join(base, 'pieces.ts');
  const bundle = join(base, 'pieces.cjs');
  writeFileSync(
    entry,
    pieces
      .map((piece) => `export * from ${JSON.stringify(join(source, piece))};\n`)
      .join('')
  );
  const build = await rolldown({ input: entry, platform: 'node' });
  await build.write({ file: bundle, format: 'cjs' });
  await build.close();
  const started: ChildProcess[] = [];
  return {
    arena: (name) => {
      const directory = join(base, name);
      mkdirSync(directory);
      return directory;
    },
    start: (arena, options = {}) => {
      const { program = contending('lock'), me = 'one' } = options;
      const file = join(arena, `${me}.cjs`);
      writeFileSync(file, `${preamble(bundle)}\n${program}`);
      const { rounds = 1, deaths = 0 } = options;
      const given = [me, arena, String(rounds), String(deaths)];
      const words = [process.execPath, file, ...given];
      const [command = '', ...args] = [...(options.under ?? []), ...words];
      const child = spawn(command, args, {
        stdio: ['ignore', 'ignore', 'inherit']
      });
      started.push(child);
      const ended = new Promise<number | string | null>((resolve) => {
        child.once('exit', (code, signal) => resolve(signal ?? code));
      });
      return { child, ended };
    },
    remove: () => {
      for (const child of started) child.kill('SIGKILL');
      rmSync(base, { recursive: true, force: true });
    }
  };
}

/**
 * Six locks, each taken four times by a process that dies while holding it,
 * and then by one that lives. @returns how each survivor ended, and how many
 * processes were killed
 */
export async function contestWithDeaths(
  contest: LockContest,
  arena: string,
  lock: 'lock' | 'wrong',
  random: Random
) {
  let killed = 0;
  const place = async (index: number) => {
    for (let life = 0; ; life += 1) {
      const isLast = life === 4;
      const { child, ended } = contest.start(arena, {
        program: contending(lock),
        me: `${index}-${life}`,
        rounds: isLast ? 15 : 10_000,
        deaths: isLast ? 0 : 80
      });
      // One life of each place ends wherever it just is.
      if (life === index % 4)
        setTimeout(() => child.kill('SIGKILL'), random.between(60, 400));
      const end = await ended;
      if (isLast) return end;
      if (end === 'SIGKILL') killed += 1;
    }
  };
  const places = await Promise.all([0, 1, 2, 3, 4, 5].map(place));
  return { places, killed };
}

/**
 * How often a process entered while another was inside and lived to leave:
 * for a process killed inside, nothing more is recorded.
 */
export function violationsIn(arena: string): number {
  const lines = readFileSync(join(arena, 'record'), 'utf8').trim().split('\n');
  const lastOf = new Map(lines.map((line, at) => [line.split(' ')[0], at]));
  let inside: string | undefined;
  let violations = 0;
  for (const [at, line] of lines.entries()) {
    const [who, word] = line.split(' ');
    const isOver = (lastOf.get(inside) ?? -1) < at;
    if (word === 'in' && inside !== undefined && !isOver) violations += 1;
    inside = word === 'in' ? who : undefined;
  }
  return violations;
}

/** The processes that entered, and how often, in order of their first entry. */
export function entriesIn(arena: string): Map<string, number> {
  const count = new Map<string, number>();
  for (const line of readFileSync(join(arena, 'record'), 'utf8').split('\n')) {
    const [who = '', word] = line.split(' ');
    if (word === 'in') count.set(who, (count.get(who) ?? 0) + 1);
  }
  return count;
}

/** The lock, rights to remove it, and the file that identifies a process. */
export function leftIn(arena: string): string[] {
  const directory = join(arena, 'lock.servers');
  const names = existsSync(directory) ? readdirSync(directory) : [];
  return [
    ...(existsSync(join(arena, 'lock')) ? ['lock'] : []),
    ...names.filter((name) => !/^\.gitignore$|\.tmp$/.test(name))
  ];
}

/** `liveness` takes a few ms: a dead holder is removed well after that. */
function preamble(bundle: string): string {
  return `
const fs = require('node:fs');
const { join } = require('node:path');
const pieces = require(${JSON.stringify(bundle)});
const [me, arena, ...numbers] = process.argv.slice(2);
const [rounds, deaths] = numbers.map(Number);
const nothing = new Int32Array(new SharedArrayBuffer(4));
const pause = (ms) => Atomics.wait(nothing, 0, 0, ms);
const record = (word) => fs.appendFileSync(join(arena, 'record'), me + ' ' + word + '\\n');
const maybeDie = () => {
  if (Math.random() * 1000 < deaths) process.kill(process.pid, 'SIGKILL');
};
const real = pieces.createProcesses(arena);
const liveness = (identity) => {
  const found = real.liveness(identity);
  if (found === 'dead') {
    pause(3 + Math.floor(Math.random() * 4));
    maybeDie();
  }
  return found;
};
const witnesses = { self: real.self, liveness };
const path = join(arena, 'lock');
const lock = new pieces.FileLock(path, path + '.servers', witnesses);
const wrong = {
  card: join(arena, 'card-' + me),
  close() {},
  async hold(work) {
    fs.writeFileSync(this.card, JSON.stringify(real.self));
    for (;;) {
      try {
        fs.linkSync(this.card, path);
        break;
      } catch {}
      let holder;
      try {
        holder = JSON.parse(fs.readFileSync(path, 'utf8'));
      } catch {
        continue;
      }
      if (liveness(holder) === 'dead') fs.rmSync(path, { force: true });
      else await new Promise((resolve) => setTimeout(resolve, 2));
    }
    try {
      return work();
    } finally {
      fs.rmSync(path, { force: true });
    }
  }
};
`;
}
