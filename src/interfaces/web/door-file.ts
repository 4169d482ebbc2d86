import { closeSync, constants, fstatSync, readFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { z } from 'zod';
import { storageError } from '../../core/errors.ts';
import { lazy } from '../../core/lazy.ts';
import { remove, replaceFile } from '../../core/state/files/atomic-file.ts';
import { ensureDirectory } from '../../core/state/files/directories.ts';
import {
  openRegular,
  ownReadFlags
} from '../../core/state/files/regular-file.ts';

const schema = lazy(() =>
  z.object({
    v: z.literal(1),
    host: z.string(),
    port: z.number().int().min(1).max(65_535),
    secret: z.string().regex(/^[\w-]{43}$/)
  })
);

/** How a command of the same user reaches the running `troupe web`. */
export type DoorFile = z.output<ReturnType<typeof schema>>;

/**
 * Readable by the user alone: the secret gives new links.
 * @throws HostError `storage_full`, `storage_unwritable`
 */
export function writeDoorFile(path: string, door: DoorFile): void {
  try {
    ensureDirectory(dirname(path));
    replaceFile(path, `${JSON.stringify(door)}\n`);
  } catch (error) {
    throw storageError(error, path);
  }
}

/** Undefined without a file that only this user can read and write. */
export function readDoorFile(path: string): DoorFile | undefined {
  let descriptor: number;
  try {
    descriptor = openRegular(path, ownReadFlags);
  } catch {
    return undefined;
  }
  try {
    const { mode, uid } = fstatSync(descriptor);
    const isOwn = process.platform === 'win32' || uid === process.getuid?.();
    const others = constants.S_IRWXG | constants.S_IRWXO;
    if (!isOwn || (process.platform !== 'win32' && (mode & others) !== 0))
      return undefined;
    return schema().safeParse(JSON.parse(readFileSync(descriptor, 'utf8')))
      .data;
  } catch {
    return undefined;
  } finally {
    closeSync(descriptor);
  }
}

/** Leaves the file of a later server alone. */
export function removeDoorFile(path: string, { secret }: DoorFile): void {
  if (readDoorFile(path)?.secret === secret) remove(path);
}
