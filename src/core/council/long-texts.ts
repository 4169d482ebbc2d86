import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { createOnce } from '../state/atomic-file.ts';
import { ensureDirectory } from '../state/directories.ts';
import { fileNameOf } from './state-file.ts';

/**
 * The file of its own, in `texts/` beside the council's file, from which a
 * text can be read that is too long for an answer. Written when it is first
 * told; where that fails, the council's file has it too.
 */
export function longTextFile(
  statePath: string,
  id: string,
  text: string
): string {
  const directory = join(dirname(statePath), 'texts');
  const path = join(directory, `${fileNameOf(id)}.txt`);
  if (existsSync(path)) return path;
  try {
    ensureDirectory(directory);
    createOnce(path, text);
    return path;
  } catch {
    return statePath;
  }
}
