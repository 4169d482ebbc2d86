import {
  closeSync,
  constants,
  fstatSync,
  openSync,
  readFileSync
} from 'node:fs';
import { z } from 'zod';
import { errnoOf } from '../errors.ts';
import { lazily } from '../lazily.ts';
import { isRunning } from './is-running.ts';

const holderSchema = lazily(() =>
  z.object({
    pid: z.number(),
    start: z.string(),
    place: z.string(),
    nonce: z.string()
  })
);

/** Who shares a folder with us may put a pipe there: it is not waited for. */
const { O_NOFOLLOW, O_NONBLOCK, O_RDONLY } = constants;

/** What a program that is not ours may say of itself. */
const foreignSchema = lazily(() => z.object({ pid: z.int().positive() }));

export type Holder = z.output<ReturnType<typeof holderSchema>>;

/** A lock as it is found: who holds it, if it says so, and which holding it is. */
export interface Found {
  /** Undefined when another program wrote it. */
  holder: Holder | undefined;
  /** The process that another program names. */
  foreignPid: number | undefined;
  /** When it was written, by the clock of then. */
  writtenMs: number;
  /** Differs from one holding to the next, also of one process. */
  holding: string;
  /** Of the holder, or of the holding: no other one ever has it. */
  name: string;
}

/** Who holds a lock, undefined when nobody does. */
export function findHolder(path: string): Found | undefined {
  let descriptor: number;
  try {
    descriptor = openSync(path, O_RDONLY | O_NOFOLLOW | (O_NONBLOCK ?? 0));
  } catch (error) {
    if (errnoOf(error) === 'ENOENT') return undefined;
    throw error;
  }
  try {
    const { ino, ctimeNs, mtimeMs } = fstatSync(descriptor, { bigint: true });
    const said = parse(readFileSync(descriptor, 'utf8'));
    const holder = holderSchema().safeParse(said).data;
    const holding = `${ino}-${ctimeNs}`;
    return {
      holder,
      foreignPid: holder
        ? undefined
        : foreignSchema().safeParse(said).data?.pid,
      writtenMs: Number(mtimeMs),
      holding,
      name: holder?.nonce ?? holding
    };
  } finally {
    closeSync(descriptor);
  }
}

/** So old the lock of another program is at least when it may be left over. */
export const foreignMs = 30_000;

/**
 * Whether another program left a lock behind. It need not say who it is, so
 * age counts as well: thirty seconds are what the published council gives a
 * lock of its own. One whose process lives, or whose time is yet to come,
 * stays.
 */
export function isLeftOver(found: Found, now = Date.now()): boolean {
  const { holder, foreignPid, writtenMs } = found;
  if (holder || now - writtenMs <= foreignMs) return false;
  return foreignPid === undefined || !isRunning(foreignPid);
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
