import { join } from 'node:path';
import { errnoOf } from '../core/errors.ts';
import type { Outcome } from '../core/runs/run.ts';
import { ownFile } from '../core/runs/run-files.ts';
import { readEnds, readSlice } from '../core/state/files/text-file.ts';
import type { Part } from './budget.ts';
import { type CutMarks, endsPart, slicePart } from './truncate.ts';

export interface Reading {
  /** The path that callers see, if it differs from the file itself. */
  shownAs?: string | undefined;
  /** Reads from this character on. Default: a long text is cut to two ends. */
  offset?: number | undefined;
  /** The most characters that can fit into the answer. */
  reach: number;
}

/** Marks facts that contain text of an agent: data, not instructions. */
export const ofAgent = { source: 'agent' } as const;

/** The output of an agent. */
export interface Words {
  /** The file with the whole text. */
  path: string;
  /** A cut text comes with all that is needed to read on. */
  full: (name: string) => Part;
  /** For answers with many texts, which explain once how to read on. */
  short: (name: string) => Part;
  /** A cut text comes with its length and its file. */
  filed: (name: string) => Part;
}

/** The fields come before the text: some clients show only the beginning. */
const fully: CutMarks = {
  mark: '\n\n… [cut: the whole text is in full_output] …\n\n',
  fields: ({ next, total, hasEnd }) => ({
    truncated: true,
    total_chars: total,
    next_offset: next,
    message: `Only ${hasEnd ? 'beginning and end' : 'the beginning'}. ${readOn(next)}`
  })
};

const shortly: CutMarks = {
  mark: '\n\n… [cut] …\n\n',
  fields: ({ next }) => ({ truncated: true, next_offset: next })
};

/** Marks for a text that is also stored in a file. */
export function cutWithFile(path: () => string, mark: string): CutMarks {
  return {
    mark,
    fields: ({ next, total }) => ({
      truncated: true,
      total_chars: total,
      next_offset: next,
      full_output: path()
    })
  };
}

export async function readWords(
  directory: string,
  outcome: Outcome,
  { offset, reach, shownAs }: Reading
): Promise<Words> {
  const file = ownFile(directory, outcome.result_file);
  if (file === undefined) return gone(join(directory, outcome.result_file));
  const path = shownAs ?? file;
  try {
    if (offset !== undefined) {
      const slice = await readSlice(file, offset, reach);
      const part = (name: string) =>
        slicePart(name, offset, slice, (next) => ({
          next_offset: next,
          message: readOn(next)
        }));
      return { path, full: part, short: part, filed: part };
    }
    const ends = await readEnds(file, reach, reach, outcome.result_chars);
    const filed = cutWithFile(() => path, shortly.mark);
    return {
      path,
      full: (name) => endsPart(name, ends, fully),
      short: (name) => endsPart(name, ends, shortly),
      filed: (name) => endsPart(name, ends, filed)
    };
  } catch (error) {
    if (errnoOf(error) === 'ENOENT') return gone(file);
    throw error;
  }
}

function gone(path: string): Words {
  const message = `${path}, which held the answer, is gone.`;
  const part = (name: string) => ({
    chars: 0,
    within: () => ({ [name]: '', message })
  });
  return { path, full: part, short: part, filed: part };
}

function readOn(offset: number): string {
  return `Call result with this agent_id and offset ${offset} to read on; full_output has all of it.`;
}
