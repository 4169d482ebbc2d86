import { statSync } from 'node:fs';
import { join } from 'node:path';
import type { Engine, Reply } from '../../plugin.ts';
import { readApiEvent } from '../engines/api-task.ts';
import { LineReader } from '../state/line-reader.ts';
import { readEnds, sizeOf } from '../state/text-file.ts';
import { Fold, type Readable } from './fold.ts';
import type { RunRecord } from './run.ts';

/** A longer line of JSON is not a reply any more. */
const maximumLineBytes = 32 * 1024 * 1024;
/** How much of a plain engine's stdout is kept in memory. */
const plainEndChars = 32 * 1024;
const maximumErrorLineBytes = 64 * 1024;

/** How a run's output is read; undefined when its engine is not known here. */
export function readableOf(
  kind: RunRecord['kind'],
  engine: Engine | undefined
): Readable | undefined {
  // API agents are programs of our own, whatever the engine.
  if (kind === 'api') return { name: 'api', read: readApiEvent };
  return engine?.kind === 'cli' ? engine : undefined;
}

/**
 * Follows one run's output and folds its events into a reply, from where it
 * stopped the last time. stderr tells what a run is doing, never how it ended.
 */
export class ReplyReader {
  readonly #engine: Readable;
  readonly #path: string;
  readonly #lines: LineReader;
  readonly #errorPath: string;
  readonly #errorLines: LineReader;
  readonly #folded: Fold;
  #busy: Promise<void> = Promise.resolve();
  #reply: Reply = { text: '', finished: false };

  constructor(engine: Readable, directory: string) {
    this.#engine = engine;
    this.#path = join(directory, 'stdout');
    this.#lines = new LineReader(this.#path, maximumLineBytes);
    this.#errorPath = join(directory, 'stderr');
    this.#errorLines = new LineReader(this.#errorPath, maximumErrorLineBytes);
    this.#folded = new Fold(engine);
  }

  /** The reply so far; `final` when the engine has ended. */
  async read(final = false): Promise<Reply> {
    const turn = this.#busy.then(() =>
      this.#engine.read ? this.#fold(final) : this.#plain(final)
    );
    this.#busy = turn.catch(() => undefined);
    await turn;
    return this.#reply;
  }

  /** Rows of failures so far. */
  get row(): number {
    return this.#folded.row;
  }

  /** The end of what the engine said that is no event of its own. */
  get stray(): string {
    return this.#folded.stray;
  }

  async #fold(final: boolean): Promise<void> {
    const readEvents = () =>
      this.#lines.read((line) => this.#folded.add(line), final);
    const readErrors = () =>
      this.#errorLines.read((line) => this.#folded.addError(line));
    if (final || !this.#engine.readError) await readEvents();
    else await this.#inOrder(readEvents, readErrors);
    this.#reply = this.#folded.reply;
  }

  /** What was written to last has the last word. */
  async #inOrder(
    readEvents: () => Promise<void>,
    readErrors: () => Promise<void>
  ): Promise<void> {
    const errorsLast = timeOf(this.#errorPath) > timeOf(this.#path);
    if (errorsLast) await readEvents();
    await readErrors();
    if (!errorsLast) await readEvents();
  }

  async #plain(final: boolean): Promise<void> {
    const ends = await readEnds(
      this.#path,
      plainEndChars,
      200,
      sizeOf(this.#path)
    );
    const lines = `${ends.head}${ends.tail}`.trimEnd().split('\n');
    const progress = lines.at(-1)?.slice(0, 120) ?? '';
    this.#reply = {
      text: ends.head,
      finished: final,
      ...(progress === '' ? {} : { progress })
    };
  }
}

function timeOf(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0;
}
