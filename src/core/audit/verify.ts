import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { readIfThere } from '../state/atomic-file.ts';
import { LineReader } from '../state/line-reader.ts';
import { firstLink, hashOf, maximumRecordBytes } from './journal.ts';

export interface ChainHead {
  writer: string;
  /** Number of its last record. */
  n: number;
  /** Hash of its last record. */
  hash: string;
}

export interface Fault {
  line: number;
  problem: string;
}

export interface Verification {
  records: number;
  heads: ChainHead[];
  /** Lines a killed writer left unfinished: no record was lost by them. */
  torn: number;
  /** In file order; empty when every chain holds. */
  faults: Fault[];
}

interface Link {
  writer: string;
  n: number;
  prev: string;
}

/**
 * Follows every writer's chain through the journal. An edited, deleted,
 * repeated or reordered record breaks its writer's chain at a known line; a
 * chain that was cut or changed at its end differs from the head its writer
 * noted. Who changes both is found only by heads kept elsewhere.
 */
export async function verifyJournal(
  path: string,
  headDirectory: string
): Promise<Verification> {
  const heads = new Map<string, ChainHead>();
  const lastLines = new Map<string, number>();
  const fragments: { line: number; text: string }[] = [];
  const faults: Fault[] = [];
  let line = 0;
  let records = 0;
  await readNumbered(path, (text, number) => {
    line = number;
    const link = parseLink(text);
    if (!link) {
      fragments.push({ line: number, text });
      return;
    }
    records += 1;
    const problem = breakOf(link, heads.get(link.writer));
    if (problem) faults.push({ line, problem });
    heads.set(link.writer, { ...link, hash: hashOf(text) });
    lastLines.set(link.writer, line);
    dropRetried(fragments, text);
  });
  const torn = fragments.filter((fragment) => isTornTail(fragment.text, heads));
  for (const fragment of fragments)
    if (!torn.includes(fragment))
      faults.push({ line: fragment.line, problem: 'is not a record' });
  for (const noted of notedHeads(headDirectory)) {
    const problem = cutOf(noted, heads.get(noted.writer));
    if (problem)
      faults.push({ line: lastLines.get(noted.writer) ?? line, problem });
  }
  return {
    records,
    heads: [...heads.values()].map(({ writer, n, hash }) => ({
      writer,
      n,
      hash
    })),
    torn: torn.length,
    faults: faults.sort((a, b) => a.line - b.line)
  };
}

function breakOf(link: Link, head: ChainHead | undefined): string | undefined {
  const expected = head ? head.n + 1 : 0;
  if (link.n > expected)
    return `record ${expected} of writer ${link.writer} is missing before record ${link.n}`;
  if (link.n < expected)
    return `record ${link.n} of writer ${link.writer} comes again or out of order`;
  if (link.prev !== (head?.hash ?? firstLink))
    return `the record before ${link.writer} #${link.n} was changed`;
  return undefined;
}

function cutOf(noted: ChainHead, head: ChainHead | undefined) {
  if (!head) return `all records of writer ${noted.writer} are missing`;
  if (head.n < noted.n)
    return `records ${head.n + 1} to ${noted.n} of writer ${noted.writer} are missing`;
  if (head.n === noted.n && head.hash !== noted.hash)
    return `record ${head.n} of writer ${noted.writer} was changed`;
  return undefined;
}

/** The heads that writers noted; one may be a record behind its journal. */
function notedHeads(headDirectory: string): ChainHead[] {
  const writers = existsSync(headDirectory) ? readdirSync(headDirectory) : [];
  return writers.flatMap((writer) => {
    const text = readIfThere(join(headDirectory, writer)) ?? '';
    const [, n, hash] = /^(\d+) ([0-9a-f]{64})\n$/.exec(text) ?? [];
    return n && hash ? [{ writer, n: Number(n), hash }] : [];
  });
}

/** A short write on a full disk is repeated whole by the same writer. */
function dropRetried(fragments: { text: string }[], text: string): void {
  const last = fragments.at(-1);
  if (last && text.startsWith(last.text)) fragments.pop();
}

/** The beginning of what would have been its writer's next record. */
function isTornTail(text: string, heads: Map<string, ChainHead>): boolean {
  const match = /^\{"writer":"([0-9a-f]{8})","n":(\d+),/.exec(text);
  if (!match)
    return '{"writer":"'.startsWith(text.slice(0, 11)) && text.length < 40;
  const [, writer = '', n] = match;
  return Number(n) === (heads.get(writer)?.n ?? -1) + 1;
}

function parseLink(text: string): Link | undefined {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return undefined;
  }
  if (typeof value !== 'object' || value === null) return undefined;
  const writer: unknown = Reflect.get(value, 'writer');
  const n: unknown = Reflect.get(value, 'n');
  const prev: unknown = Reflect.get(value, 'prev');
  return typeof writer === 'string' &&
    typeof n === 'number' &&
    typeof prev === 'string'
    ? { writer, n, prev }
    : undefined;
}

/** Line numbers as an editor shows them: empty lines count. */
async function readNumbered(
  path: string,
  onLine: (text: string, number: number) => void
): Promise<void> {
  let number = 0;
  const reader = new LineReader(path, 4 * maximumRecordBytes, 0, true);
  await reader.read((text) => {
    number += 1;
    if (text !== '') onLine(text, number);
  }, true);
}
