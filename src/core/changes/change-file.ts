import { existsSync, renameSync } from 'node:fs';
import { basename, join } from 'node:path';
import { errnoOf } from '../errors.ts';
import { createOnce, readIfThere, remove } from '../state/atomic-file.ts';
import type { FileChange } from './ports.ts';

/** What was seen of an agent's changes, as `changes.json` in its folder. */
export interface Changes {
  v: 1;
  /** Absent when nothing could be told; then the note says why. */
  files?: FileChange[];
  /** Of which `files` has at most the first hundred. */
  total?: number;
  /** The name under which the patch was written; null when there is none. */
  patch: string | null;
  note?: string;
}

export function changesOf(directory: string): Changes | undefined {
  const text = readIfThere(join(directory, 'changes.json'));
  if (text === undefined) return undefined;
  try {
    const changes: Changes = JSON.parse(text);
    if (changes?.v === 1) return changes;
  } catch {
    // Somebody has spoilt it: we write it whole.
  }
  return { v: 1, patch: null, note: 'What was seen cannot be read any more.' };
}

/** The patch of all changes, when there are any. */
export function patchOf(directory: string): string {
  return join(directory, 'changes.diff');
}

/**
 * Records what was seen, once: of several who looked, the first one counts,
 * and it is his patch that stays, though he be killed right after.
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

/** Gives the patch that counts its name, if nobody has yet. */
export function settlePatch(directory: string): void {
  const patch = changesOf(directory)?.patch ?? null;
  if (patch === null || existsSync(patchOf(directory))) return;
  try {
    renameSync(join(directory, basename(patch)), patchOf(directory));
  } catch (error) {
    if (errnoOf(error) !== 'ENOENT') throw error;
  }
}
