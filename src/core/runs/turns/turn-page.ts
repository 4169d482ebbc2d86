import { closeSync, fstatSync } from 'node:fs';
import { join, sep } from 'node:path';
import { setImmediate as yieldTurn } from 'node:timers/promises';
import type { CliEngine, Engine, Turn } from '../../../plugin/plugin.ts';
import { absentUnlessLimited } from '../../errors.ts';
import { lineEndAt, linesBack } from '../../state/files/lines-back.ts';
import { openRegular, ownReadFlags } from '../../state/files/regular-file.ts';
import type { RunRecord } from '../run.ts';

/** A longer line is not read as JSON, as by `ReplyReader`. */
const maximumLineBytes = 32 * 1024 * 1024;
/** A page ends early once its texts have so many characters. */
const mostPageChars = 2_000_000;
/** Pieces are joined up to this length. */
const mostJoinedChars = 1_000_000;
/** Bytes that are read before the event loop gets its turn. */
const turnBytes = 512 * 1024;

/**
 * A turn with its position in the output: a number that grows from turn to
 * turn, and stays the same while the run goes on.
 */
export type NumberedTurn = Turn & { seq: number };

export interface TurnRange {
  /** Only turns with a smaller number: the first one of a later page. */
  before?: number | undefined;
  /** Only turns with this number or a larger one: what came since. */
  from?: number | undefined;
  limit: number;
  /** A page ends early once its turns of kind `text` have more characters. */
  textCharsAtMost?: number;
  /** Bytes of the output that are read at most, to find them. */
  bytesAtMost?: number;
}

export interface TurnPage {
  /** Oldest first. */
  turns: NumberedTurn[];
  /** Whether there are older turns, down to `from`. */
  more: boolean;
}

export type ReadTurns = NonNullable<CliEngine['turns']>;

/** How a run's output is read as turns; undefined if its engine has none. */
export function turnsReaderOf(
  { kind }: Pick<RunRecord, 'kind'>,
  engine: Engine | undefined
): ReadTurns | undefined {
  return kind === 'cli' && engine?.kind === 'cli' ? engine.turns : undefined;
}

/**
 * The newest turns of a run within a range, from its output. The output is read
 * backwards, so that the newest page does not depend on its size, and streamed
 * pieces are joined. Texts are whole and not redacted. A missing output has no
 * turns.
 * @param directory the folder of the agent
 */
export async function turnsOf(
  directory: string,
  read: ReadTurns,
  {
    before = Infinity,
    from = 0,
    limit,
    textCharsAtMost = Infinity,
    bytesAtMost = Infinity
  }: TurnRange
): Promise<TurnPage> {
  const descriptor = openOutput(join(directory, 'stdout'));
  if (descriptor === undefined) return { turns: [], more: false };
  try {
    const { size } = fstatSync(descriptor);
    const end = lineEndAt(descriptor, Math.max(0, before - 1), size);
    const page = new PageBack(limit, textCharsAtMost);
    let turnAt = end - turnBytes;
    for (const line of linesBack(descriptor, end, maximumLineBytes)) {
      if (line.start + line.bytes < from) break;
      if (end - line.start > bytesAtMost) return page.whole(true);
      // A turn takes at least one byte, so that numbers are unique.
      const turns = turnsIn(line.text, read).slice(0, line.bytes);
      for (let index = turns.length - 1; index >= 0; index -= 1) {
        const [turn, seq] = [turns[index], line.start + index];
        if (!turn || seq >= before || seq < from) continue;
        if (!page.add({ ...turn, seq })) return page.whole(true);
      }
      if (line.start > turnAt) continue;
      turnAt = line.start - turnBytes;
      await yieldTurn();
    }
    return page.whole(false);
  } finally {
    closeSync(descriptor);
  }
}

/** Joins each piece to the pieces of the same kind right before it. */
export function joinPieces(turns: Turn[]): Turn[] {
  const page = new PageBack(Infinity);
  for (const [index, turn] of [...turns.entries()].reverse())
    page.add({ ...turn, seq: index });
  return page.whole(false).turns.map(({ seq: _, ...turn }) => turn);
}

/** Collects turns from the last one on. */
class PageBack {
  readonly #limit: number;
  readonly #textCharsAtMost: number;
  readonly #newestFirst: NumberedTurn[] = [];
  #chars = 0;
  #textChars = 0;

  constructor(limit: number, textCharsAtMost = Infinity) {
    this.#limit = limit;
    this.#textCharsAtMost = textCharsAtMost;
  }

  /** False when the page is full, and the turn belongs to an earlier one. */
  add(turn: NumberedTurn): boolean {
    const chars = charsOf(turn);
    const textChars = turn.kind === 'text' ? turn.text.length : 0;
    const joined = joinOf(turn, this.#newestFirst.at(-1));
    if (joined) this.#newestFirst.splice(-1, 1, joined);
    else if (this.#isFullFor(chars, textChars)) return false;
    else this.#newestFirst.push(turn);
    this.#chars += chars;
    this.#textChars += textChars;
    return true;
  }

  whole(more: boolean): TurnPage {
    const turns = this.#newestFirst.toReversed().map(withoutMark);
    return { turns, more };
  }

  #isFullFor(chars: number, textChars: number): boolean {
    const { length } = this.#newestFirst;
    if (length >= this.#limit) return true;
    const isTooLong =
      this.#chars + chars > mostPageChars ||
      this.#textChars + textChars > this.#textCharsAtMost;
    return length > 0 && isTooLong;
  }
}

/** Undefined if the second turn does not continue the first. */
function joinOf(
  turn: NumberedTurn,
  next: NumberedTurn | undefined
): NumberedTurn | undefined {
  if (!isPiece(turn) || next === undefined || !isPiece(next)) return undefined;
  const isSame = turn.kind === next.kind && turn.within === next.within;
  const text = turn.text + next.text;
  return isSame && text.length <= mostJoinedChars
    ? { ...turn, text }
    : undefined;
}

function isPiece(
  turn: NumberedTurn
): turn is NumberedTurn & { kind: 'text' | 'thinking' } {
  return (turn.kind === 'text' || turn.kind === 'thinking') && !!turn.isPiece;
}

function withoutMark(turn: NumberedTurn): NumberedTurn {
  if (!isPiece(turn)) return turn;
  const { isPiece: _, ...whole } = turn;
  return whole;
}

function charsOf(turn: Turn): number {
  return Object.values(turn).reduce<number>(
    (sum, value) => sum + (typeof value === 'string' ? value.length : 0),
    0
  );
}

/** Empty for a line that is no event, or that the engine cannot read. */
function turnsIn(line: string, read: ReadTurns): Turn[] {
  const first = line.trimStart()[0];
  if (first !== '{' && first !== '[') return [];
  try {
    return read(JSON.parse(line));
  } catch {
    return [];
  }
}

function openOutput(path: string): number | undefined {
  try {
    return openRegular(path, ownReadFlags);
  } catch (error) {
    return absentUnlessLimited(error);
  }
}

/** Shows the path of an edit relative to the directory of its agent. */
export function withShortPath(turn: NumberedTurn, cwd: string): NumberedTurn {
  if (turn.kind !== 'edit' || !turn.path.startsWith(`${cwd}${sep}`))
    return turn;
  return { ...turn, path: turn.path.slice(cwd.length + 1) };
}
