import { join } from 'node:path';
import { errnoOf } from '../errors.ts';
import { readEnds, readSlice } from '../state/text-file.ts';
import type { Part } from './fit.ts';
import { ownFile } from './own-file.ts';
import { type CutWords, endsPart, slicePart } from './parts.ts';
import type { Outcome } from './run.ts';

export interface Reading {
  /** The file that callers are given for all of it, when it is another one. */
  shownAs?: string | undefined;
  /** Reads on from there; else the text is told by its two ends. */
  offset?: number | undefined;
  /** Characters that will have room at most. */
  reach: number;
}

/** Marks facts that hold words of an agent: data, not instructions. */
export const ofAgent = { source: 'agent' } as const;

/** An agent's own words, read once and told in as much room as there is. */
export interface Words {
  /** The file that holds them all. */
  path: string;
  /** Whole, or with all that is needed to read on. */
  full: (name: string) => Part;
  /** For answers of many, which say once for all how to read on. */
  short: (name: string) => Part;
  /** The same; cut, it says how much there is and where. */
  filed: (name: string) => Part;
}

/**
 * That a text is cut is said before it: some clients show the beginning of an
 * answer only.
 */
const fully: CutWords = {
  mark: '\n\n… [cut: the whole text is in full_output] …\n\n',
  tell: ({ next, total, hasEnd }) => ({
    truncated: true,
    total_chars: total,
    next_offset: next,
    message: `Only ${hasEnd ? 'beginning and end' : 'the beginning'}. ${readOn(next)}`
  })
};

const shortly: CutWords = {
  mark: '\n\n… [cut] …\n\n',
  tell: ({ next }) => ({ truncated: true, next_offset: next })
};

function withFile(path: string): CutWords {
  return {
    mark: shortly.mark,
    tell: ({ next, total }) => ({
      truncated: true,
      total_chars: total,
      next_offset: next,
      full_output: path
    })
  };
}

export async function readWords(
  directory: string,
  outcome: Outcome,
  { offset, reach, shownAs }: Reading
): Promise<Words> {
  const path = ownFile(directory, outcome.result_file);
  if (path === undefined) return gone(join(directory, outcome.result_file));
  try {
    const words = await wordsIn(path, outcome, { offset, reach, shownAs });
    return { ...words, path: shownAs ?? path };
  } catch (error) {
    if (errnoOf(error) === 'ENOENT') return gone(path);
    throw error;
  }
}

/** @throws the system's error when there is no such file */
async function wordsIn(
  path: string,
  outcome: Outcome,
  { offset, reach, shownAs = path }: Reading
): Promise<Words> {
  if (offset !== undefined) {
    const slice = await readSlice(path, offset, reach);
    const part = (name: string) =>
      slicePart(name, offset, slice, ({ next, total }) => ({
        truncated: true,
        total_chars: total,
        ...(next === undefined
          ? {}
          : { next_offset: next, message: readOn(next) })
      }));
    return { path, full: part, short: part, filed: part };
  }
  const ends = await readEnds(path, reach, reach, outcome.result_chars);
  return {
    path,
    full: (name) => endsPart(name, ends, fully),
    short: (name) => endsPart(name, ends, shortly),
    filed: (name) => endsPart(name, ends, withFile(shownAs))
  };
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
