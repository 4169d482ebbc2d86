import { randomBytes } from 'node:crypto';
import { basename, join } from 'node:path';
import { HostError, storageError } from '../errors.ts';
import { writeNew } from '../state/atomic-file.ts';
import { ensureDirectory } from '../state/directories.ts';
import type { WorkerFolder } from './worker-folder.ts';

/** Bytes of JSON that stand in a line; what is longer gets a file. */
const inlineBytes = 64 * 1024;

/** What stands in a line for a payload. */
export interface Placed {
  payload?: unknown;
  payload_file?: string;
}

/**
 * Puts a payload where it has room: in the line itself, or in a file of its
 * own in the worker's artifacts, which the line names.
 * @throws HostError `storage_full`, `storage_unwritable`
 */
export function placed(payload: unknown, folder: WorkerFolder): Placed {
  if (payload === undefined) return {};
  const text = textOf(payload);
  if (Buffer.byteLength(text) <= inlineBytes) return { payload };
  return { payload_file: writePayload(text, folder) };
}

function textOf(payload: unknown): string {
  try {
    return JSON.stringify(payload);
  } catch {
    // The client's JSON was read, so all that can be wrong is its depth.
    throw new HostError(
      'invalid_input',
      'The payload is nested too deeply.',
      'Give it less depth, or put it into a file and name that.'
    );
  }
}

/** Writes a payload into the artifacts; gives its path below the worker's. */
export function writePayload(text: string, folder: WorkerFolder): string {
  const name = `payload-${randomBytes(6).toString('hex')}.json`;
  try {
    ensureDirectory(folder.artifacts);
    writeNew(join(folder.artifacts, name), text, true);
  } catch (error) {
    throw storageError(error, folder.artifacts);
  }
  return join(basename(folder.artifacts), name);
}
