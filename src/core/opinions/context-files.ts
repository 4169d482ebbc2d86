import { statSync } from 'node:fs';
import { basename, relative } from 'node:path';
import { keyFileName } from '../engines/api-keys.ts';
import { HostError } from '../errors.ts';
import { resolveInside } from '../runs/containment.ts';
import { ownReadFlags, readRegular } from '../state/regular-file.ts';

export interface ContextFile {
  /** Relative to the workspace. */
  path: string;
  text: string;
}

/** All files of one question together. */
const maximumBytes = 400_000;

/**
 * Reads the files that go along with a question, whole and once each.
 * @throws HostError `invalid_input` for a file that is not there, is outside
 *   of the workspace, holds keys, is no text, or is too much
 */
export function readContextFiles(
  workspace: string,
  paths: string[]
): ContextFile[] {
  const files = new Map<string, ContextFile>();
  let room = maximumBytes;
  for (const asked of paths) {
    const file = resolveInside(workspace, asked);
    const stat =
      file === undefined
        ? undefined
        : statSync(file, { throwIfNoEntry: false });
    if (file === undefined || !stat?.isFile())
      throw refusal(asked, 'is no file inside the workspace');
    if (basename(file).toLowerCase() === keyFileName)
      throw refusal(asked, 'holds keys, which go to nobody');
    if (files.has(file)) continue;
    room -= stat.size;
    if (room < 0)
      throw refusal(asked, `is too much: ${maximumBytes} bytes for all files`);
    const text = decoded(file);
    if (text === undefined) throw refusal(asked, 'is no UTF-8 text');
    files.set(file, { path: relative(workspace, file), text });
  }
  return [...files.values()];
}

function decoded(file: string): string | undefined {
  try {
    // Its real path, so a link means that it was replaced since.
    const bytes = readRegular(file, ownReadFlags);
    if (bytes.includes(0)) return undefined;
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    return undefined;
  }
}

function refusal(path: string, why: string): HostError {
  return new HostError(
    'invalid_input',
    `context_files: "${path}" ${why}.`,
    'Give paths of text files relative to the workspace, or quote what matters in the question.'
  );
}
