import { existsSync, readdirSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { needing } from './needs.ts';

/** `test`, where a program can be shown another time (Debian: libfaketime). */
export const testShifted = needing('libfaketime', library() !== undefined);

/** A clock that goes like ours, some seconds off. */
export interface ShiftedClock {
  /** For programs that are to read this clock. Its stopwatches go on undisturbed. */
  env: Record<string, string>;
  /** Sets it, as an administrator or a time server would. */
  set: (seconds: number) => void;
}

/**
 * The clock of a program, in a file that holds its offset. The times
 * of files stay true: they are the system's.
 */
export function shiftedClock(file: string, seconds = 0): ShiftedClock {
  const set = (off: number) => {
    writeFileSync(`${file}.new`, `${off < 0 ? '' : '+'}${off}`);
    renameSync(`${file}.new`, file);
  };
  set(seconds);
  return {
    set,
    env: {
      LD_PRELOAD: library() ?? '',
      FAKETIME_TIMESTAMP_FILE: file,
      FAKETIME_NO_CACHE: '1',
      FAKETIME_DONT_FAKE_MONOTONIC: '1',
      DONT_FAKE_MONOTONIC: '1',
      NO_FAKE_STAT: '1'
    }
  };
}

function library(): string | undefined {
  if (process.platform !== 'linux') return undefined;
  return readdirSync('/usr/lib')
    .map((name) => join('/usr/lib', name, 'faketime', 'libfaketimeMT.so.1'))
    .find((path) => existsSync(path));
}
