import {
  closeSync,
  fdatasyncSync,
  fstatSync,
  ftruncateSync,
  readSync,
  statSync,
  writeSync
} from 'node:fs';
import { replaceFile } from './atomic-file.ts';
import { cutTo, openToRepair } from './own-file.ts';
import { openRegular, ownReadFlags } from './regular-file.ts';

/**
 * Appends whole lines to a file that only one process writes at a time (see
 * `FileLock`), and returns when they are on the disk: all of them or none.
 * A last line without its end, which a killed process left, is put aside
 * first.
 * @param tornPath where it goes, with what tells it from others added
 * @returns takes the lines back
 * @throws the system's error; then the file is as it was
 */
export function appendLines(
  path: string,
  lines: string[],
  tornPath: string
): () => void {
  if (lines.length === 0) return () => undefined;
  const descriptor = openToRepair(path, true);
  try {
    const size = cutTorn(descriptor, tornPath);
    const bytes = Buffer.from(`${lines.join('\n')}\n`);
    try {
      // A full disk shows as a short count first.
      for (let written = 0; written < bytes.length; )
        written += writeSync(descriptor, bytes, written);
      fdatasyncSync(descriptor);
    } catch (error) {
      ftruncateSync(descriptor, size);
      throw error;
    }
    return () => cutTo(path, size);
  } finally {
    closeSync(descriptor);
  }
}

/** Whether the last line has no end. */
export function isTorn(path: string): boolean {
  const size = statSync(path, { throwIfNoEntry: false })?.size ?? 0;
  if (size === 0) return false;
  const descriptor = openRegular(path, ownReadFlags);
  try {
    const last = Buffer.alloc(1);
    readSync(descriptor, last, 0, 1, size - 1);
    return last[0] !== 10;
  } finally {
    closeSync(descriptor);
  }
}

/** Puts aside what stands behind the last line's end. */
export function repairLines(path: string, tornPath: string): void {
  const descriptor = openToRepair(path, false);
  try {
    cutTorn(descriptor, tornPath);
  } finally {
    closeSync(descriptor);
  }
}

function cutTorn(descriptor: number, tornPath: string): number {
  const { size } = fstatSync(descriptor);
  const whole = endOfLines(descriptor, size);
  if (whole === size) return size;
  const torn = Buffer.allocUnsafe(size - whole);
  readSync(descriptor, torn, 0, torn.length, whole);
  replaceFile(`${tornPath}.torn-${Date.now()}-${whole}`, torn);
  ftruncateSync(descriptor, whole);
  return whole;
}

/** The byte behind the last newline. */
function endOfLines(descriptor: number, size: number): number {
  const block = Buffer.allocUnsafe(64 * 1024);
  for (let end = size; end > 0; ) {
    const start = Math.max(0, end - block.length);
    const count = readSync(descriptor, block, 0, end - start, start);
    const newline = block.subarray(0, count).lastIndexOf(10);
    if (newline >= 0) return start + newline + 1;
    end = start;
  }
  return 0;
}
