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
 * Follows one run's stdout and folds its events into a reply, from where it
 * stopped the last time.
 */
export class ReplyReader {
  readonly #engine: Readable;
  readonly #path: string;
  readonly #lines: LineReader;
  readonly #folded: Fold;
  #busy: Promise<void> = Promise.resolve();
  #reply: Reply = { text: '', finished: false };

  constructor(engine: Readable, directory: string) {
    this.#engine = engine;
    this.#path = join(directory, 'stdout');
    this.#lines = new LineReader(this.#path, maximumLineBytes);
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

  /** The end of what the engine said that is no event of its own. */
  get stray(): string {
    return this.#folded.stray;
  }

  async #fold(final: boolean): Promise<void> {
    await this.#lines.read((line) => this.#folded.add(line), final);
    this.#reply = this.#folded.reply;
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
