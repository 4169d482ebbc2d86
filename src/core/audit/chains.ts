import { firstLink, hashOf } from './journal.ts';
import { canBeRecord, parseLine } from './parse-record.ts';

export interface ChainHead {
  writer: string;
  /** Number of its last record. */
  n: number;
  /** Hash of its last record. */
  hash: string;
}

/** Where a line stands, as an editor shows it. */
export interface Line {
  /** Relative to the log directory. */
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

/** Of each writer only its end is kept, however long the journal is. */
interface Chain {
  last: ReadLink;
  /** The record before `last`, when the two do not fit. */
  misfit: ReadLink | undefined;
}

/** A line that begins like a record and is none. */
interface Torn {
  n: number;
  at: Line;
}

/** Follows every writer's chain, line by line. */
export class Chains {
  readonly #noted: Map<string, ChainHead>;
  readonly #chains = new Map<string, Chain>();
  /** By place: of two that are found on one line the later one counts. */
  readonly #broken = new Map<string, Fault>();
  readonly #cut: Fault[] = [];
  /** Each writer's newest torn line, until its record is written again. */
  readonly #torn = new Map<string, Torn>();
  #place: Line;
  records = 0;
  /** Lines a killed writer left unfinished: no record was lost by them. */
  torn = 0;

  /**
   * @param noted the head that each writer noted
   * @param beginning where a journal without lines lacks them
   */
  constructor(noted: ChainHead[], beginning: Line) {
    this.#noted = new Map(noted.map((head) => [head.writer, head]));
    this.#place = beginning;
  }

  take(text: string, at: Line): void {
    this.#place = at;
    const value = parseLine(text);
    const link = linkIn(value);
    if (link) {
      this.records += 1;
      this.#follow({ ...link, at, hash: hashOf(text) });
      if (!canBeRecord(value)) this.#tell(at, 'is not a record');
      // A part of a record is never whole JSON.
    } else if (value === undefined && this.#isTorn(text, at)) this.torn += 1;
    else this.#tell(at, 'is not a record');
  }

  /** After the last line. */
  end(): void {
    for (const chain of this.#chains.values()) this.#settle(chain, undefined);
    for (const head of this.#noted.values()) {
      const last = this.#chains.get(head.writer)?.last;
      const next = last ? last.n + 1 : 0;
      const isTorn = head.n >= next && this.#tellTorn(head.writer, next);
      const problem = isTorn ? restOf(head, next) : cutOf(head, last);
      if (problem) this.#cut.push({ ...(last?.at ?? this.#place), problem });
    }
  }

  /** Where the chains end, in the order of their beginnings. */
  get heads(): ChainHead[] {
    return [...this.#chains.values()].map(({ last: { writer, n, hash } }) => ({
      writer,
      n,
      hash
    }));
  }

  /** In the order they were found, which need not be that of the lines. */
  get faults(): Fault[] {
    return [...this.#broken.values(), ...this.#cut];
  }

  #follow(link: ReadLink): void {
    const { writer, n, at } = link;
    const chain = this.#chains.get(writer);
    if (chain) this.#settle(chain, link);
    const before = chain?.last;
    const expected = before ? before.n + 1 : 0;
    const isTorn = n > expected && this.#tellTorn(writer, expected);
    if (n >= expected) this.#torn.delete(writer);
    const missing = isTorn ? expected + 1 : expected;
    if (n > missing)
      this.#tell(
        at,
        `record ${missing} of writer ${writer} is missing before record ${n}`
      );
    else if (n < expected)
      this.#tell(
        at,
        `record ${n} of writer ${writer} comes again or out of order`
      );
    const isMisfit =
      n === expected && link.prev !== (before?.hash ?? firstLink);
    if (isMisfit && !before) this.#tellChanged(link);
    this.#chains.set(writer, {
      last: link,
      misfit: isMisfit ? before : undefined
    });
  }

  /**
   * When two neighbours do not fit, the later one is the original if its own
   * successor or the noted head fits it.
   */
  #settle({ last, misfit }: Chain, next: ReadLink | undefined): void {
    if (misfit)
      this.#tellChanged(this.#isVouchedFor(last, next) ? misfit : last);
  }

  #isVouchedFor(link: ReadLink, next: ReadLink | undefined): boolean {
    if (next && next.n === link.n + 1) return next.prev === link.hash;
    const noted = this.#noted.get(link.writer);
    return noted?.n === link.n ? noted.hash === link.hash : true;
  }

  /**
   * The beginning of its writer's next record: the writer was killed while it
   * wrote, or the disk was full and it wrote the record again.
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
   * A record is missing: the torn line in its place, if there is one, was
   * whole once. Its writer went on, and had it not been, would have written it
   * again.
   */
  #tellTorn(writer: string, n: number): boolean {
    const torn = this.#torn.get(writer);
    if (torn?.n !== n) return false;
    this.torn -= 1;
    this.#tell(torn.at, `record ${n} of writer ${writer} was cut or changed`);
    return true;
  }

  #tellChanged({ at, n, writer }: ReadLink): void {
    this.#tell(at, `record ${n} of writer ${writer} was changed`);
  }

  #tell({ file, line }: Line, problem: string): void {
    this.#broken.set(`${file} ${line}`, { file, line, problem });
  }
}

function cutOf(noted: ChainHead, last: ReadLink | undefined) {
  if (!last) return `all records of writer ${noted.writer} are missing`;
  if (last.n < noted.n) return restOf(noted, last.n);
  if (last.n === noted.n && last.hash !== noted.hash)
    return `record ${last.n} of writer ${noted.writer} was changed`;
  return undefined;
}

/** What is missing of a chain of which that much is there. */
function restOf({ writer, n }: ChainHead, there: number) {
  return n > there
    ? `records ${there + 1} to ${n} of writer ${writer} are missing`
    : undefined;
}

function linkIn(value: unknown): Link | undefined {
  if (typeof value !== 'object' || value === null) return undefined;
  const writer: unknown = Reflect.get(value, 'writer');
  const n: unknown = Reflect.get(value, 'n');
  const prev: unknown = Reflect.get(value, 'prev');
  // The name is shown, and the number counted with.
  return typeof writer === 'string' &&
    /^[0-9a-f]{8}$/.test(writer) &&
    Number.isSafeInteger(n) &&
    typeof n === 'number' &&
    typeof prev === 'string'
    ? { writer, n, prev }
    : undefined;
}
