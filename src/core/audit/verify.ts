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

interface ReadLink extends Link {
  line: number;
  hash: string;
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
  const chains = new Map<string, ReadLink[]>();
  const faults: Fault[] = [];
  let line = 0;
  let records = 0;
  let torn = 0;
  // Before the journal, which may grow meanwhile: never the other way round.
  const noted = new Map(
    notedHeads(headDirectory).map((head) => [head.writer, head])
  );
  await readNumbered(path, (text, number) => {
    line = number;
    const link = parseLink(text);
    if (link) {
      records += 1;
      const chain = chains.get(link.writer) ?? [];
      chains.set(link.writer, chain);
      chain.push({ ...link, line, hash: hashOf(text) });
    } else if (isTorn(text, chains)) torn += 1;
    else faults.push({ line, problem: 'is not a record' });
  });
  for (const [writer, chain] of chains)
    faults.push(...breaksOf(chain, noted.get(writer)));
  for (const head of noted.values()) {
    const last = chains.get(head.writer)?.at(-1);
    const problem = cutOf(head, last);
    if (problem) faults.push({ line: last?.line ?? line, problem });
  }
  return {
    records,
    heads: [...chains.values()].flatMap((chain) => headOf(chain)),
    torn,
    faults: faults.sort((a, b) => a.line - b.line)
  };
}

function breaksOf(chain: ReadLink[], noted: ChainHead | undefined): Fault[] {
  const faults = new Map<number, string>();
  let before: ReadLink | undefined;
  for (const [index, link] of chain.entries()) {
    const { writer, n, line } = link;
    const expected = before ? before.n + 1 : 0;
    if (n > expected)
      faults.set(
        line,
        `record ${expected} of writer ${writer} is missing before record ${n}`
      );
    else if (n < expected)
      faults.set(
        line,
        `record ${n} of writer ${writer} comes again or out of order`
      );
    else if (link.prev !== (before?.hash ?? firstLink)) {
      const changed =
        before && isVouchedFor(link, chain[index + 1], noted) ? before : link;
      faults.set(
        changed.line,
        `record ${changed.n} of writer ${writer} was changed`
      );
    }
    before = link;
  }
  return [...faults].map(([line, problem]) => ({ line, problem }));
}

/**
 * When two neighbours do not fit, the later one is the original if its own
 * successor or the noted head fits it.
 */
function isVouchedFor(
  link: ReadLink,
  next: ReadLink | undefined,
  noted: ChainHead | undefined
): boolean {
  if (next && next.n === link.n + 1) return next.prev === link.hash;
  return noted?.n === link.n ? noted.hash === link.hash : true;
}

function cutOf(noted: ChainHead, last: ReadLink | undefined) {
  if (!last) return `all records of writer ${noted.writer} are missing`;
  if (last.n < noted.n)
    return `records ${last.n + 1} to ${noted.n} of writer ${noted.writer} are missing`;
  if (last.n === noted.n && last.hash !== noted.hash)
    return `record ${last.n} of writer ${noted.writer} was changed`;
  return undefined;
}

function headOf(chain: ReadLink[]): ChainHead[] {
  const last = chain.at(-1);
  return last ? [{ writer: last.writer, n: last.n, hash: last.hash }] : [];
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

/**
 * The beginning of its writer's next record: the writer was killed while it
 * wrote, or the disk was full and it wrote the record again.
 */
function isTorn(text: string, chains: Map<string, ReadLink[]>): boolean {
  const [, writer = ''] = /^\{"writer":"([0-9a-f]{0,8})/.exec(text) ?? [];
  const last = chains.get(writer)?.at(-1);
  const next = `"n":${last ? last.n + 1 : 0},"prev":"${last?.hash ?? firstLink}"`;
  const beginning = `{"writer":"${writer.padEnd(8, '0')}",${next},"at":"`;
  return beginning.startsWith(text) || text.startsWith(beginning);
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
