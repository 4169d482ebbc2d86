import { existsSync, renameSync, statSync } from 'node:fs';
import { basename, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { z } from 'zod';
import { errnoOf } from '../errors.ts';
import { lazy } from '../lazy.ts';
import {
  type ProcessIdentity,
  parseIdentity
} from '../processes/process-identity.ts';
import type { Processes } from '../runs/ports.ts';
import type { RunRecord, Worktree } from '../runs/run.ts';
import {
  createOnce,
  readIfExists,
  remove,
  writeNew
} from '../state/files/atomic-file.ts';
import { readOnce } from '../state/files/known-files.ts';
import { damagedIfIrregular } from '../state/files/regular-file.ts';
import type { FileChange } from './ports.ts';

const lines = z.number().min(0).nullable();

const changesSchema = lazy(() =>
  z.object({
    v: z.literal(1),
    /** Absent when the files could not be compared; the note says why. */
    files: z
      .array(
        z.object({
          path: z.string(),
          added: lines,
          removed: lines,
          renamed_from: z.string().exactOptional(),
          shared: z.literal(true).exactOptional()
        })
      )
      .exactOptional(),
    /** The number of changed files; `files` has at most the first hundred. */
    total: z.number().min(0).exactOptional(),
    /** The file name of the patch before its final rename; null without one. */
    patch: z.string().nullable(),
    note: z.string().exactOptional()
  })
);

/** The content of `changes.json` in an agent's folder. */
export type Changes = z.output<ReturnType<typeof changesSchema>>;

export function changesOf(directory: string): Changes | undefined {
  const path = join(directory, 'changes.json');
  const text = damagedIfIrregular(() => readOnce(path));
  if (text === undefined) return undefined;
  try {
    const changes = changesSchema().safeParse(JSON.parse(text)).data;
    if (changes) return changes;
  } catch {
    // The file was damaged later, because troupe writes it atomically.
  }
  return {
    v: 1,
    patch: null,
    note: 'The record of its changes cannot be read.'
  };
}

/** The path of the patch of all changes; there is no file without changes. */
export function patchOf(directory: string): string {
  return join(directory, 'changes.diff');
}

/**
 * Records the changes once: if several processes compared the files, the first
 * one wins. Its patch stays even if the process is killed right after.
 */
export function keepChanges(directory: string, changes: Changes): void {
  const isFirst = createOnce(
    join(directory, 'changes.json'),
    `${JSON.stringify(changes)}\n`
  );
  if (!isFirst && changes.patch !== null)
    remove(join(directory, changes.patch));
  settlePatch(directory);
}

/** Renames the recorded patch to its final name; does nothing if it has it. */
export function settlePatch(directory: string): void {
  const patch = changesOf(directory)?.patch ?? null;
  if (patch === null || existsSync(patchOf(directory))) return;
  try {
    renameSync(join(directory, basename(patch)), patchOf(directory));
  } catch (error) {
    if (errnoOf(error) !== 'ENOENT') throw error;
  }
}

/** A claim expires after this time, longer than a comparison may take. */
const claimMs = 6000;

/**
 * Claims the comparison of an agent's files for this process, so that other
 * servers do not repeat it. Returns false if another process has claimed it.
 * The claim only saves work: if its owner records no changes, the process that
 * waits for it compares the files itself.
 */
export function claimComparison(
  directory: string,
  self: ProcessIdentity
): boolean {
  try {
    writeNew(claimIn(directory), JSON.stringify(self));
    return true;
  } catch (error) {
    if (errnoOf(error) === 'EEXIST') return false;
    throw error;
  }
}

export function releaseComparison(directory: string): void {
  remove(claimIn(directory));
}

/** Waits until the process with the claim is done, dead or too slow. */
export async function awaitComparison(
  directory: string,
  { liveness }: Processes
): Promise<void> {
  while (!changesOf(directory) && isClaimed(directory, liveness))
    await delay(20);
}

function isClaimed(
  directory: string,
  liveness: Processes['liveness']
): boolean {
  const path = claimIn(directory);
  const since = statSync(path, { throwIfNoEntry: false })?.mtimeMs;
  if (since === undefined || Math.abs(Date.now() - since) > claimMs)
    return false;
  // Undefined while the claim is being written.
  const holder = parseIdentity(readIfExists(path) ?? '');
  return holder === undefined || liveness(holder) !== 'dead';
}

function claimIn(directory: string): string {
  return join(directory, 'looking');
}

interface ReportedChanges {
  files_changed?: FileChange[];
  files_changed_total?: number;
  diff?: string;
  files_changed_note?: string;
  worktree?: ReportedWorktree;
}

interface ReportedWorktree {
  path: string;
  branch: string;
  base: string;
  removed?: true;
}

/** The fields of `result` about the files that an agent changed. */
export function reportChanges(
  { worktree }: RunRecord,
  directory: string
): ReportedChanges {
  const changes = changesOf(directory);
  // The disk was too full for a comparison, and even for a note.
  if (!changes)
    return worktree && existsSync(worktree.path)
      ? {
          files_changed_note: 'The files were not compared.',
          worktree: reportWorktree(worktree)
        }
      : {};
  const { files, total = 0, patch, note } = changes;
  return {
    ...(files ? { files_changed: files, files_changed_total: total } : {}),
    ...(patch === null ? {} : { diff: patchOf(directory) }),
    ...(note === undefined ? {} : { files_changed_note: note }),
    ...(worktree ? { worktree: reportWorktree(worktree) } : {})
  };
}

function reportWorktree({ path, branch, base }: Worktree): ReportedWorktree {
  return { path, branch, base, ...(existsSync(path) ? {} : { removed: true }) };
}

/** Records why the files were not compared. */
export function keepNote(directory: string, because: string): void {
  const note = `The files were not compared: ${because}.`;
  try {
    keepChanges(directory, { v: 1, patch: null, note });
  } catch {
    // On a full disk, `result` has no note.
  }
}
