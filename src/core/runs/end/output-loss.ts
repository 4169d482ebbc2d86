import { existsSync, statfsSync } from 'node:fs';
import { join } from 'node:path';
import type { Failure } from '../../../plugin/plugin.ts';
import { sizeOf } from '../../state/files/text-file.ts';
import { isFull, refusalIn } from '../damaged-run.ts';
import type { RunRecord } from '../run.ts';
import { claimOf, endNotesOf, noteLoss } from '../run-files.ts';
import type { RunStore } from '../run-store.ts';

/** Files grow by whole blocks of this size, or a multiple of it. */
const blockBytes = 1024;

/** With less free space than this, a disk was probably full before. */
const spareBytes = 256 * 1024;

/** Why the output of an ended agent is incomplete, if it is. */
export function lossOf(directory: string, label: string): Failure | undefined {
  const stdout = join(directory, 'stdout');
  if (!existsSync(stdout))
    return {
      code: 'bad_output',
      message: `${label} ended, but its file stdout was removed, so its answer is lost. Spawn it again.`
    };
  const { cut, full, filled, emptied } = endNotesOf(directory);
  const size = sizeOf(stdout);
  // An agent writes stdout itself; on a full disk, it ends at a whole block.
  const isFilled =
    size % blockBytes === 0 && (full || (size > 0 && isNearlyFull(directory)));
  if (filled || isFilled || /no space|quota/i.test(cut))
    return {
      code: 'storage_full',
      message: `${label} wrote while the disk was full, so its output is incomplete. Free space on the disk that holds ~/.troupe and spawn it again.`
    };
  if (emptied)
    return {
      code: 'bad_output',
      message: `${label}, or a program that it started, reopened /dev/stdout, which emptied its output: what it had printed before is lost. Let it append (>>/dev/stdout), and spawn it again.`
    };
  if (cut === '') return undefined;
  return {
    code: 'bad_output',
    message: `The output of ${label} is incomplete (${cut.slice(0, 200)}). Spawn it again.`
  };
}

/**
 * Called often while agents work, because a disk may be full only for a moment.
 * If it is full now, notes that in the folders of the agents whose output ends
 * at a whole block: they cannot write on.
 */
export function noteFullDisk(store: RunStore, running: RunRecord[]): void {
  if (running.length === 0 || !isNearlyFull(store.root)) return;
  const held = running
    .filter((record) => isAtBlock(record, store))
    .map((record) => store.directoryOf(record.agent_id));
  // Root may use a reserve of the disk, which does not count as free.
  if (held.length === 0 || !isFull(refusalIn(store.root, 4 * blockBytes)))
    return;
  for (const directory of held) noteLoss(directory, 'filled');
}

/** Whether a program that writes its files itself needs a block to go on. */
function isAtBlock(record: RunRecord, store: RunStore): boolean {
  // The process of an API engine fails when it cannot write.
  if (record.kind !== 'cli') return false;
  const directory = store.directoryOf(record.agent_id);
  const claim = claimOf(directory, record.owner.place);
  // The readers of pipes note themselves what they could not write.
  if (!claim?.supervisor || hasReaders(claim.watchdogs)) return false;
  return sizeOf(join(directory, 'stdout')) % blockBytes === 0;
}

/** True for a disk that was probably full while the output was written. */
function isNearlyFull(directory: string): boolean {
  try {
    const { bavail, bsize } = statfsSync(directory);
    return bavail * bsize < spareBytes;
  } catch {
    return false;
  }
}

/** A supervisor with pipes has two readers besides its one or two watchdogs. */
function hasReaders(watchdogs: number[]): boolean {
  return watchdogs.length > 2;
}
