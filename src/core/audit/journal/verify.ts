import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { readIfExists } from '../../state/files/atomic-file.ts';
import { LineReader } from '../../state/files/line-reader.ts';
import { sizeOf } from '../../state/files/text-file.ts';
import { digestOf } from '../../state/integrity/digests.ts';
import { type JournalFile, JournalFiles } from './journal-files.ts';
import {
  canBeRecord,
  firstLink,
  maximumRecordBytes,
  parseLine
} from './journal-record.ts';

interface Verification {
  records: number;
  heads: ChainHead[];
  /** The number of torn lines of killed writers; they lose no record. */
  torn: number;
  /** In journal order; empty when every chain is intact. */
  faults: Fault[];
}

/** The maximum number of reads when a segment grows during the read. */
const attempts = 5;

/**
 * Verifies every writer's chain through all segments of the journal. An edited,
 * deleted, repeated or reordered record breaks its writer's chain at a known
 * line. A chain that was truncated or changed at its end differs from the head
 * that its writer stored. If both were changed, only a copy of the heads that
 * was kept elsewhere reveals it.
 */
export async function verifyJournal(
  path: string,
  headDirectory: string
): Promise<Verification> {
  const files = new JournalFiles(path);
  for (let attempt = 1; ; attempt += 1) {
    // Read before the journal, which may grow in the meantime.
    const stored = storedHeads(headDirectory);
    const list = files.list();
    const chains = new Chains(stored, {
      file: list.at(-1)?.name ?? '',
      line: 0
    });
    const sizes: number[] = [];
    for (const file of list) sizes.push(await readInto(chains, files, file));
    // A segment that grew after it was read may contain a late record whose
    // successor was already read in a later file.
    const isSame = list
      .slice(0, -1)
      .every((segment, index) => sizeOf(segment.path) === sizes[index]);
    if (!isSame && attempt < attempts) continue;
    chains.end();
    const { records, heads, torn, faults } = chains;
    return { records, heads, torn, faults: inOrder(faults, list) };
  }
}

function inOrder(faults: Fault[], list: JournalFile[]): Fault[] {
  const indexes = new Map(list.map(({ name }, index) => [name, index]));
  const indexOf = ({ file }: Fault) => indexes.get(file) ?? 0;
  return faults.sort((a, b) => indexOf(a) - indexOf(b) || a.line - b.line);
}

/** The heads that writers stored; a head may be one record behind. */
function storedHeads(headDirectory: string): ChainHead[] {
  const writers = existsSync(headDirectory) ? readdirSync(headDirectory) : [];
  return writers.flatMap((writer) => {
    const text = readIfExists(join(headDirectory, writer)) ?? '';
    const [, n, hash] = /^(\d+) ([0-9a-f]{64})\n$/.exec(text) ?? [];
    return n && hash ? [{ writer, n: Number(n), hash }] : [];
  });
}

/**
 * Also counts empty lines, so that line numbers match those of an editor.
 * @returns the number of bytes read
 */
async function readInto(
  chains: Chains,
  files: JournalFiles,
  file: JournalFile
): Promise<number> {
  const handle = await files.open(file);
  if (!handle) return 0;
  let line = 0;
  const take = (text: string) => {
    line += 1;
    if (text !== '') chains.take(text, { file: file.name, line });
  };
  const reader = new LineReader(file.path, 4 * maximumRecordBytes, 0, true);
  try {
    await reader.readFrom(handle, take);
  } finally {
    await handle.close();
  }
  reader.takeRest(take);
  return reader.offset;
}

interface ChainHead {
  writer: string;
  /** The number of the writer's last record. */
  n: number;
  /** The hash of the writer's last record. */
  hash: string;
}

/** The position of a line; numbers start at 1, as in an editor. */
interface Line {
  /** The name of the file, relative to the record. */
  file: string;
  line: number;
}

export interface Fault extends Line {
  problem: string;
}

interface Link {
  writer: string;
  n: number;
  prev: string;
}

interface ReadLink extends Link {
  at: Line;
  hash: string;
}

/** The end of a writer's chain; earlier links are not kept in memory. */
interface Chain {
  last: ReadLink;
  /** The record before `last`, if `prev` of `last` does not match it. */
  mismatched: ReadLink | undefined;
}

/** A line that is a truncated record. */
interface Torn {
  n: number;
  at: Line;
}

class Chains {
  readonly #stored: Map<string, ChainHead>;
  readonly #chains = new Map<string, Chain>();
  /** By line; a later fault on the same line replaces an earlier one. */
  readonly #broken = new Map<string, Fault>();
  readonly #cut: Fault[] = [];
  /** Each writer's last torn line, until its record is written again. */
  readonly #torn = new Map<string, Torn>();
  #at: Line;
  records = 0;
  torn = 0;

  /**
   * @param stored the head that each writer stored
   * @param beginning the position for faults in a journal without lines
   */
  constructor(stored: ChainHead[], beginning: Line) {
    this.#stored = new Map(stored.map((head) => [head.writer, head]));
    this.#at = beginning;
  }

  take(text: string, at: Line): void {
    this.#at = at;
    const value = parseLine(text);
    const link = linkIn(value);
    if (link) {
      this.records += 1;
      this.#follow({ ...link, at, hash: digestOf(text) });
      if (!canBeRecord(value)) this.#report(at, 'is not a record');
      // A truncated record is never valid JSON.
    } else if (value === undefined && this.#isTorn(text, at)) this.torn += 1;
    else this.#report(at, 'is not a record');
  }

  /** Call this after the last line. */
  end(): void {
    for (const chain of this.#chains.values())
      this.#reportMismatch(chain, undefined);
    for (const head of this.#stored.values()) {
      const last = this.#chains.get(head.writer)?.last;
      const next = last ? last.n + 1 : 0;
      const isTorn = head.n >= next && this.#reportTorn(head.writer, next);
      const problem = isTorn ? restOf(head, next) : cutOf(head, last);
      if (problem) this.#cut.push({ ...(last?.at ?? this.#at), problem });
    }
  }

  /** The last link of each chain, in the order of the first links. */
  get heads(): ChainHead[] {
    return [...this.#chains.values()].map(({ last: { writer, n, hash } }) => ({
      writer,
      n,
      hash
    }));
  }

  /** In the order of detection, which may differ from the order of lines. */
  get faults(): Fault[] {
    return [...this.#broken.values(), ...this.#cut];
  }

  #follow(link: ReadLink): void {
    const { writer, n, at } = link;
    const chain = this.#chains.get(writer);
    if (chain) this.#reportMismatch(chain, link);
    const before = chain?.last;
    const expected = before ? before.n + 1 : 0;
    const isTorn = n > expected && this.#reportTorn(writer, expected);
    if (n >= expected) this.#torn.delete(writer);
    const missing = isTorn ? expected + 1 : expected;
    if (n > missing)
      this.#report(
        at,
        `record ${missing} of writer ${writer} is missing before record ${n}`
      );
    else if (n < expected)
      this.#report(
        at,
        `record ${n} of writer ${writer} is repeated or out of order`
      );
    const isMismatch =
      n === expected && link.prev !== (before?.hash ?? firstLink);
    if (isMismatch && !before) this.#reportChanged(link);
    this.#chains.set(writer, {
      last: link,
      mismatched: isMismatch ? before : undefined
    });
  }

  /**
   * Reports which of two records that do not match was changed: the earlier one
   * if the successor of `last` or the stored head confirms `last`.
   */
  #reportMismatch(
    { last, mismatched }: Chain,
    next: ReadLink | undefined
  ): void {
    if (mismatched)
      this.#reportChanged(this.#isConfirmed(last, next) ? mismatched : last);
  }

  #isConfirmed(link: ReadLink, next: ReadLink | undefined): boolean {
    if (next && next.n === link.n + 1) return next.prev === link.hash;
    const stored = this.#stored.get(link.writer);
    return stored?.n === link.n ? stored.hash === link.hash : true;
  }

  /**
   * Whether a line is the beginning of its writer's next record. The writer was
   * killed during the write, or wrote the record again after a short write.
   */
  #isTorn(text: string, at: Line): boolean {
    const [, writer = ''] = /^\{"writer":"([0-9a-f]{0,8})/.exec(text) ?? [];
    const last = this.#chains.get(writer)?.last;
    const n = last ? last.n + 1 : 0;
    const next = `"n":${n},"prev":"${last?.hash ?? firstLink}"`;
    const beginning = `{"writer":"${writer.padEnd(8, '0')}",${next},"at":"`;
    if (!beginning.startsWith(text) && !text.startsWith(beginning))
      return false;
    this.#torn.set(writer, { n, at });
    return true;
  }

  /**
   * Call this when a record is missing. A torn line at its position was once
   * complete: after a short write the writer writes the record again before it
   * continues. Reports the line and returns true in this case.
   */
  #reportTorn(writer: string, n: number): boolean {
    const torn = this.#torn.get(writer);
    if (torn?.n !== n) return false;
    this.torn -= 1;
    this.#report(torn.at, `record ${n} of writer ${writer} was cut or changed`);
    return true;
  }

  #reportChanged({ at, n, writer }: ReadLink): void {
    this.#report(at, `record ${n} of writer ${writer} was changed`);
  }

  #report({ file, line }: Line, problem: string): void {
    this.#broken.set(`${file} ${line}`, { file, line, problem });
  }
}

function cutOf(stored: ChainHead, last: ReadLink | undefined) {
  if (!last) return `all records of writer ${stored.writer} are missing`;
  if (last.n < stored.n) return restOf(stored, last.n);
  if (last.n === stored.n && last.hash !== stored.hash)
    return `record ${last.n} of writer ${stored.writer} was changed`;
  return undefined;
}

/** The fault for the missing records after `present`; undefined if none is. */
function restOf({ writer, n }: ChainHead, present: number) {
  return n > present
    ? `records ${present + 1} to ${n} of writer ${writer} are missing`
    : undefined;
}

function linkIn(value: unknown): Link | undefined {
  if (typeof value !== 'object' || value === null) return undefined;
  const writer: unknown = Reflect.get(value, 'writer');
  const n: unknown = Reflect.get(value, 'n');
  const prev: unknown = Reflect.get(value, 'prev');
  // Strict, because the name is printed and the number is used in arithmetic.
  return typeof writer === 'string' &&
    /^[0-9a-f]{8}$/.test(writer) &&
    Number.isSafeInteger(n) &&
    typeof n === 'number' &&
    typeof prev === 'string'
    ? { writer, n, prev }
    : undefined;
}
