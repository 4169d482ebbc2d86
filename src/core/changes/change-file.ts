import { existsSync, renameSync } from 'node:fs';
import { basename, join } from 'node:path';
import { z } from 'zod';
import { errnoOf } from '../errors.ts';
import { lazily } from '../lazily.ts';
import { createOnce, readIfThere, remove } from '../state/atomic-file.ts';

const lines = z.number().min(0).nullable();

const changesSchema = lazily(() =>
  z.object({
    v: z.literal(1),
    /** Absent when nothing could be compared; then the note says why. */
    files: z
      .array(
        z.object({
          path: z.string(),
          added: lines,
          removed: lines,
          renamed_from: z.string().exactOptional()
        })
      )
      .exactOptional(),
    /** Of which `files` has at most the first hundred. */
    total: z.number().min(0).exactOptional(),
    /** The name under which the patch was written; null when there is none. */
    patch: z.string().nullable(),
    note: z.string().exactOptional()
  })
);

/** What was seen of an agent's changes, as `changes.json` in its folder. */
export type Changes = z.output<ReturnType<typeof changesSchema>>;

export function changesOf(directory: string): Changes | undefined {
  const text = readIfThere(join(directory, 'changes.json'));
  if (text === undefined) return undefined;
  try {
    const changes = changesSchema().safeParse(JSON.parse(text)).data;
    if (changes) return changes;
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
