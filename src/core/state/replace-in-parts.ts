import { open, rename, rm } from 'node:fs/promises';
import { temporaryName } from './atomic-file.ts';

/** A call for each small part would cost more than its bytes. */
const blockBytes = 64 * 1024;

/**
 * Replaces a file whole, as `replaceFile` does, beside the event loop: to lay
 * one of megabytes over another may wait for the disk.
 * @param isWanted asked right before it takes its place; false leaves what is
 *   there
 */
export async function replaceInParts(
  path: string,
  parts: Iterable<string | Uint8Array>,
  isWanted: () => boolean = () => true
): Promise<void> {
  const temporary = temporaryName(path);
  try {
    const file = await open(temporary, 'wx', 0o600);
    try {
      for (const block of inBlocks(parts)) await file.writeFile(block);
    } finally {
      await file.close();
    }
    if (isWanted()) await rename(temporary, path);
    else await rm(temporary, { force: true });
  } catch (error) {
    // What fails here would hide what failed before.
    await rm(temporary, { force: true }).catch(() => undefined);
    throw error;
  }
}

function* inBlocks(parts: Iterable<string | Uint8Array>): Iterable<Uint8Array> {
  let block: Uint8Array[] = [];
  let bytes = 0;
  for (const part of parts) {
    const next = typeof part === 'string' ? Buffer.from(part) : part;
    block.push(next);
    bytes += next.byteLength;
    if (bytes < blockBytes) continue;
    yield Buffer.concat(block, bytes);
    block = [];
    bytes = 0;
  }
  yield Buffer.concat(block, bytes);
}
