import { randomBytes } from 'node:crypto';
import { basename, join } from 'node:path';
import { HostError, storageError } from '../../errors.ts';
import { trySyncDirectory, writeNew } from '../../state/files/atomic-file.ts';
import { ensureDirectory } from '../../state/files/directories.ts';
import { copyPayload, type WorkerFolder } from './worker-folder.ts';

/** Payloads with more bytes of JSON are stored in a file. */
const inlineBytes = 64 * 1024;

/** The payload fields of a log line. */
interface StoredPayload {
  payload?: unknown;
  payload_file?: string;
}

/**
 * Stores a payload inline, or, if it is long, in a file among the worker's
 * artifacts that the line names.
 * @throws HostError `storage_full`, `storage_unwritable`
 */
export function storePayload(
  payload: unknown,
  folder: WorkerFolder
): StoredPayload {
  if (payload === undefined) return {};
  const text = jsonOf(payload);
  if (Buffer.byteLength(text) <= inlineBytes) return { payload };
  return { payload_file: writePayload(text, folder) };
}

function jsonOf(payload: unknown): string {
  try {
    return JSON.stringify(payload);
  } catch {
    // It was parsed from JSON, so only its depth can be the reason.
    throw new HostError(
      'invalid_input',
      'The payload is nested too deeply.',
      'Give it less depth, or put it into a file and name that.'
    );
  }
}

/** Writes a payload to a file; returns its path below the worker's folder. */
export function writePayload(text: string, folder: WorkerFolder): string {
  const name = `payload-${randomBytes(6).toString('hex')}.json`;
  try {
    ensureDirectory(folder.payloads);
    writeNew(join(folder.payloads, name), text, true);
    for (const directory of [folder.payloads, folder.private])
      trySyncDirectory(directory);
    copyPayload(folder, name);
  } catch (error) {
    throw storageError(error, folder.payloads);
  }
  return join(basename(folder.payloads), name);
}
