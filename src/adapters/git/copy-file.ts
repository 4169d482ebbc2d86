import { constants, type Stats } from 'node:fs';
import { type FileHandle, open, realpath } from 'node:fs/promises';
import { dirname } from 'node:path';
import { errnoOf } from '../../core/errors.ts';
import { isInside } from '../../core/paths/troupe-home.ts';
import {
  NotRegular,
  openRegularAsync,
  ownReadFlags
} from '../../core/state/files/regular-file.ts';

interface CopyLimits {
  /** Real paths of directories; the file must lie in one of them. */
  within: string[];
  /** A larger file is not copied. */
  mostBytes?: number;
}

const blockBytes = 1024 * 1024;

/**
 * Copies a regular file through its descriptor. The copy keeps the modification
 * time of the original, in whole seconds: git compares it with the times of
 * files to detect changes that were made within one tick of the clock.
 * @returns why the file was not copied; undefined if it was, or is missing
 */
export async function copyRegular(
  from: string,
  to: string,
  { within, mostBytes = Number.POSITIVE_INFINITY }: CopyLimits
): Promise<string | undefined> {
  let source: FileHandle;
  try {
    const folder = await realpath(dirname(from));
    if (!within.some((root) => isInside(root, folder)))
      return 'it leads outside the repository';
    source = await openRegularAsync(from, ownReadFlags);
  } catch (error) {
    return reasonOf(error);
  }
  try {
    const stats = await source.stat();
    if (stats.size > mostBytes)
      return `it is larger than ${mostBytes / 1024 / 1024} MB`;
    await copyFrom(source, to, stats);
    return undefined;
  } finally {
    await source.close();
  }
}

function reasonOf(error: unknown): string | undefined {
  if (error instanceof NotRegular) return 'it is not a regular file';
  switch (errnoOf(error)) {
    case 'ENOENT':
    case 'ENOTDIR':
      return undefined;
    case 'ELOOP':
      return 'it is a symbolic link';
    case 'ENXIO': // A socket.
      return 'it is not a regular file';
    default:
      throw error;
  }
}

/** Copies at most the initial size, because the file may keep growing. */
async function copyFrom(
  source: FileHandle,
  to: string,
  { size, mtimeMs }: Stats
): Promise<void> {
  const { O_CREAT, O_NOFOLLOW = 0, O_TRUNC, O_WRONLY } = constants;
  const flags = O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW;
  const target = await open(to, flags, 0o600);
  try {
    const block = Buffer.allocUnsafe(Math.min(blockBytes, Math.max(size, 1)));
    for (let at = 0; at < size; ) {
      const length = Math.min(block.length, size - at);
      const { bytesRead } = await source.read(block, 0, length, at);
      if (bytesRead === 0) break;
      await target.writeFile(block.subarray(0, bytesRead));
      at += bytesRead;
    }
    const seconds = Math.floor(mtimeMs / 1000);
    await target.utimes(seconds, seconds);
  } finally {
    await target.close();
  }
}
