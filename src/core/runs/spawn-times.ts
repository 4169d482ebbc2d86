import { createHash } from 'node:crypto';
import {
  closeSync,
  constants,
  fstatSync,
  openSync,
  readSync,
  writeSync
} from 'node:fs';
import { replaceFile } from '../state/atomic-file.ts';
import { ensureDirectory } from '../state/directories.ts';
import { checkOwn } from '../state/own-file.ts';

const { O_APPEND, O_CREAT, O_NOFOLLOW, O_NONBLOCK, O_RDWR } = constants;

/** One of another kind than a file must not hold us up. */
const mode =
  O_RDWR | O_APPEND | O_CREAT | (O_NOFOLLOW ?? 0) | (O_NONBLOCK ?? 0);

const minuteMs = 60_000;

/** Between the look at the clock and the line in the file. */
const slackMs = 5000;

interface SpawnTime {
  at: number;
  byAgent: boolean;
}

/** `<8 of the boot> <13 digits: milliseconds> <a or p>`, and its end. */
const lineBytes = 25;

/** It is written anew when it holds so many times what is read. */
const mostTimes = 4;
const leastKept = 1000;

export interface SpawnTimesDependencies {
  /** The record of the workspace. */
  root: string;
  /** Machine, boot and process namespace. */
  place: string;
  /** Spawns a minute, by all servers; 0: as many as are asked for. */
  most: number;
  /** Milliseconds since this machine began, the same in all processes. */
  now?: () => number;
}

/**
 * How many agents were started in the last minute, by all servers of a
 * workspace on this machine: a file of lines that each appends to in one
 * write, without a lock. Of two servers that look at once both may find room
 * for the last one. No clock that can be set plays a part. What cannot be
 * read or written does not count, and keeps nobody from anything.
 */
export class SpawnTimes {
  readonly #directory: string;
  readonly #place: string;
  #named: string | undefined;
  readonly #most: number;
  readonly #now: () => number;

  constructor({ root, place, most, now = uptime }: SpawnTimesDependencies) {
    this.#directory = `${root}/counts`;
    this.#place = place;
    this.#most = most;
    this.#now = now;
  }

  /** Spawns a minute; agents that spawn have a tenth of it among them. */
  limitFor(byAgents: boolean): number {
    return byAgents ? Math.max(1, Math.floor(this.#most / 10)) : this.#most;
  }

  /**
   * Milliseconds until so many more may be started: 0 for now, infinite when
   * they are too many for any minute.
   */
  delayFor(count: number, byAgents: boolean): number {
    if (this.#most === 0) return 0;
    const now = this.#now();
    const times = this.#read(now, this.limitFor(byAgents) - count);
    const byThem = times.filter((one) => one.byAgent);
    const all = delay(times, this.limitFor(false), count, now);
    if (!byAgents) return all;
    return Math.max(all, delay(byThem, this.limitFor(true), count, now));
  }

  /** So many have been started. */
  note(count: number, byAgent: boolean): void {
    if (this.#most === 0) return;
    const at = String(Math.floor(this.#now())).padStart(13, '0');
    const line = `${this.#boot} ${at} ${byAgent ? 'a' : 'p'}\n`;
    try {
      ensureDirectory(this.#directory);
      this.#with((descriptor, size) => {
        writeSync(descriptor, line.repeat(count));
        if (size > mostTimes * this.#keptBytes) this.#shorten(descriptor, size);
      });
    } catch {
      // Then fewer are known to have been started than were.
    }
  }

  /** None, when the file is too short to hold more than `few`. */
  #read(now: number, few: number): SpawnTime[] {
    let text = '';
    try {
      this.#with((descriptor, size) => {
        if (size > few * lineBytes) text = this.#tail(descriptor, size);
      });
    } catch {
      return [];
    }
    const times: SpawnTime[] = [];
    for (const line of linesFromEnd(text)) {
      const [, boot, at, by] =
        /^([0-9a-f]{8}) (\d{13}) ([ap])$/.exec(line) ?? [];
      if (boot !== this.#boot) continue;
      const since = now - Number(at);
      // They were added in their order, give or take a few milliseconds.
      if (since > minuteMs + slackMs) break;
      // What lies ahead is of an earlier boot that had no name.
      if (since >= 0 && since < minuteMs)
        times.push({ at: Number(at), byAgent: by === 'a' });
    }
    return times;
  }

  /** Those that others append meanwhile may be lost. */
  #shorten(descriptor: number, size: number): void {
    const text = this.#tail(descriptor, size + lineBytes);
    replaceFile(this.#path, text.slice(text.indexOf('\n') + 1));
  }

  #tail(descriptor: number, size: number): string {
    const bytes = Buffer.alloc(Math.min(size, this.#keptBytes));
    const count = readSync(
      descriptor,
      bytes,
      0,
      bytes.length,
      size - bytes.length
    );
    return bytes.toString('latin1', 0, count);
  }

  /** Made when it is needed: a start can do without. */
  get #boot(): string {
    const name = () => createHash('sha256').update(this.#place).digest('hex');
    this.#named ??= name().slice(0, 8);
    return this.#named;
  }

  #with(work: (descriptor: number, size: number) => void): void {
    const descriptor = openSync(this.#path, mode, 0o600);
    try {
      const file = fstatSync(descriptor);
      checkOwn(this.#path, file);
      work(descriptor, file.size);
    } finally {
      closeSync(descriptor);
    }
  }

  get #path(): string {
    return `${this.#directory}/spawn-times`;
  }

  get #keptBytes(): number {
    return lineBytes * (this.#most + leastKept);
  }
}

/** The last line first: most of a text need not be looked at. */
function* linesFromEnd(text: string): Generator<string> {
  for (let end = text.length; end > 0; ) {
    const start = text.lastIndexOf('\n', end - 1);
    yield text.slice(start + 1, end);
    end = start;
  }
}

/** Until enough of them are a minute old. */
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

/** It neither jumps nor differs between the processes of one boot. */
function uptime(): number {
  return Number(process.hrtime.bigint()) / 1e6;
}
