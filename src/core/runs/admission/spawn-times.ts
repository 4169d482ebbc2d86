import { createHash } from 'node:crypto';
import { dirname, join } from 'node:path';
import { replaceFile } from '../../state/files/atomic-file.ts';
import { ensureDirectory } from '../../state/files/directories.ts';
import { appendTo } from '../../state/files/own-file.ts';
import { sizeOf, tailOf } from '../../state/files/text-file.ts';

const minuteMs = 60_000;

/** Longest time between reading the clock and writing the line. */
const slackMs = 5000;

interface SpawnTime {
  at: number;
  byAgent: boolean;
}

/** `<8 hex digits: boot> <13 digits: milliseconds> <a or p>\n` */
const lineBytes = 25;

/** The file is rewritten when it is this many times longer than needed. */
const rewriteFactor = 4;
/** Lines that are kept beyond the limit of one minute. */
const spareLines = 1000;

interface SpawnTimesDependencies {
  /** The record of the workspace. */
  root: string;
  /** Machine, boot and process namespace. */
  place: string;
  /** Spawns per minute of all servers; 0 for no limit. */
  most: number;
  /** Milliseconds since the machine started, equal in all processes. */
  now?: () => number;
}

/**
 * Counts the agents that all servers of a workspace on this machine started in
 * the last minute, in a file to which each server appends lines without a lock.
 * Two servers that read at the same moment may both find room for the last
 * agent. Changes of the system time have no effect. Times that cannot be read
 * or written do not count and never prevent a spawn.
 */
export class SpawnTimes {
  readonly #path: string;
  readonly #place: string;
  readonly #limits: Pick<SpawnTimesDependencies, 'most'>;
  readonly #now: () => number;

  constructor(dependencies: SpawnTimesDependencies) {
    const { root, place, now = uptime } = dependencies;
    this.#path = join(root, 'counts', 'spawn-times');
    this.#place = place;
    this.#limits = dependencies;
    this.#now = now;
  }

  /** It may change between two calls. */
  get #most(): number {
    return this.#limits.most;
  }

  /** Spawns per minute; spawns by agents may use a tenth of the limit. */
  limitFor(byAgents: boolean): number {
    return byAgents ? Math.max(1, Math.floor(this.#most / 10)) : this.#most;
  }

  /**
   * Milliseconds until `count` more agents may be started; Infinity when they
   * exceed the limit by themselves.
   */
  delayFor(count: number, byAgents: boolean): number {
    if (this.#most === 0) return 0;
    if (this.#hasAtMost(this.limitFor(byAgents) - count)) return 0;
    const now = this.#now();
    const times = this.#read(now);
    const byThem = times.filter((one) => one.byAgent);
    const all = delay(times, this.limitFor(false), count, now);
    if (!byAgents) return all;
    return Math.max(all, delay(byThem, this.limitFor(true), count, now));
  }

  /** Counts agents that are being started. */
  note(count: number, byAgent: boolean): void {
    if (this.#most === 0) return;
    const at = String(Math.floor(this.#now())).padStart(13, '0');
    const line = `${this.#boot()} ${at} ${byAgent ? 'a' : 'p'}\n`;
    try {
      ensureDirectory(dirname(this.#path));
      appendTo(this.#path, line.repeat(count));
      if (sizeOf(this.#path) > rewriteFactor * this.#keptBytes) this.#shorten();
    } catch {
      // These agents are then not counted.
    }
  }

  /** Judged by the size of the file, which a burst need not read each time. */
  #hasAtMost(lines: number): boolean {
    try {
      return sizeOf(this.#path) <= lines * lineBytes;
    } catch {
      return false;
    }
  }

  #read(now: number): SpawnTime[] {
    let text = '';
    try {
      text = tailOf(this.#path, this.#keptBytes);
    } catch {
      return [];
    }
    const own = this.#boot();
    const times: SpawnTime[] = [];
    for (const line of text.split('\n').reverse()) {
      const [, boot, at, by] =
        /^([0-9a-f]{8}) (\d{13}) ([ap])$/.exec(line) ?? [];
      if (boot !== own) continue;
      const since = now - Number(at);
      // Lines are in order, except for a few milliseconds.
      if (since > minuteMs + slackMs) break;
      // A time in the future comes from an earlier boot without a name.
      if (since >= 0 && since < minuteMs)
        times.push({ at: Number(at), byAgent: by === 'a' });
    }
    return times;
  }

  /** Lines that another server appends at the same time may be lost. */
  #shorten(): void {
    const text = tailOf(this.#path, this.#keptBytes);
    replaceFile(this.#path, text.slice(text.indexOf('\n') + 1));
  }

  #boot(): string {
    return createHash('sha256').update(this.#place).digest('hex').slice(0, 8);
  }

  get #keptBytes(): number {
    return lineBytes * (this.#most + spareLines);
  }
}

/** Milliseconds until enough of these times are a minute old. */
function delay(
  times: SpawnTime[],
  most: number,
  count: number,
  now: number
): number {
  const tooMany = times.length + count - most;
  if (tooMany <= 0) return 0;
  if (count > most) return Number.POSITIVE_INFINITY;
  const sorted = times.map(({ at }) => at).sort((a, b) => a - b);
  return (sorted[tooMany - 1] ?? now) + minuteMs - now;
}

/** A monotonic clock that all processes of one boot share. */
function uptime(): number {
  return Number(process.hrtime.bigint()) / 1e6;
}
