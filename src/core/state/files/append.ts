import {
  closeSync,
  fdatasyncSync,
  fstatSync,
  ftruncateSync,
  readSync
} from 'node:fs';
import { replaceFile, writeAll } from './atomic-file.ts';
import { openToRepair, truncateTo } from './own-file.ts';
import { readPart } from './regular-file.ts';
import { sizeOf } from './text-file.ts';

/**
 * Appends whole lines and returns when all of them are on the disk. The caller
 * holds a `FileLock`: only one process may write at a time. A torn last line of
 * a killed process is first moved to a separate file.
 * @param tornPath prefix of the file that receives the torn line
 * @param create whether to create a missing file; false makes it an error
 * @returns a function that undoes the append
 * @throws the system's error; the file then has no part of the new lines
 */
export function appendLines(
  path: string,
  lines: string[],
  tornPath: string,
  create = true
): () => void {
  if (lines.length === 0) return () => undefined;
  const descriptor = openToRepair(path, create);
  try {
    const size = cutTorn(descriptor, tornPath);
    try {
      writeAll(descriptor, `${lines.join('\n')}\n`);
      fdatasyncSync(descriptor);
    } catch (error) {
      ftruncateSync(descriptor, size);
      throw error;
    }
    return () => truncateTo(path, size);
  } finally {
    closeSync(descriptor);
  }
}

/**
 * Appends one line, without a lock. A killed process may have left half a line,
 * which is ended first.
 */
export function appendLine(path: string, line: string): void {
  const descriptor = openToRepair(path, true);
  try {
    const { size } = fstatSync(descriptor);
    const last = Buffer.alloc(1, '\n');
    if (size > 0) readSync(descriptor, last, 0, 1, size - 1);
    writeAll(descriptor, `${last[0] === 10 ? '' : '\n'}${line}\n`);
  } finally {
    closeSync(descriptor);
  }
}

/** Whether the last line has no newline. */
export function isTorn(path: string): boolean {
  const size = sizeOf(path);
  return size > 0 && readPart(path, size - 1, 1)[0] !== 10;
}

/** Moves the bytes after the last newline to a separate file. */
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

/** The offset after the last newline. */
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
