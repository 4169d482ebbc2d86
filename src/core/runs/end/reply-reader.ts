import { existsSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { Engine, Reply } from '../../../plugin/plugin.ts';
import { readApiEvent } from '../../engines/api/api-task.ts';
import { LineReader } from '../../state/files/line-reader.ts';
import { readEnds, sizeOf } from '../../state/files/text-file.ts';
import { cutAtWord } from '../../text.ts';
import type { RunRecord } from '../run.ts';
import { EventReducer, type Readable } from './event-reducer.ts';

/** A longer line is not read as JSON. */
const maximumLineBytes = 32 * 1024 * 1024;
/** Characters of a plain engine's stdout that are kept in memory. */
const plainEndChars = 32 * 1024;
const maximumErrorLineBytes = 64 * 1024;

/** The reader of a run's output; undefined if its engine is not known. */
export function readableOf(
  kind: RunRecord['kind'],
  engine: Engine | undefined
): Readable | undefined {
  // All API agents run the same program of troupe, whatever the engine.
  if (kind === 'api') return { name: 'api', read: readApiEvent };
  return engine?.kind === 'cli' ? engine : undefined;
}

/**
 * Follows one run's output and reduces its events to a reply. A read continues
 * where the last one stopped. stderr shows the progress of a run, never its
 * end.
 */
export class ReplyReader {
  readonly #engine: Readable;
  readonly #path: string;
  readonly #lines: LineReader;
  readonly #errorPath: string;
  readonly #errorLines: LineReader;
  readonly #reducer: EventReducer;
  #lastTurn: Promise<void> = Promise.resolve();
  #reply: Reply = { text: '', finished: false };

  constructor(engine: Readable, directory: string) {
    this.#engine = engine;
    this.#path = join(directory, 'stdout');
    this.#lines = new LineReader(this.#path, maximumLineBytes);
    this.#errorPath = join(directory, 'stderr');
    this.#errorLines = new LineReader(this.#errorPath, maximumErrorLineBytes);
    this.#reducer = new EventReducer(engine);
  }

  /** The reply so far. Set `final` once the engine has ended. */
  async read(final = false): Promise<Reply> {
    const turn = this.#lastTurn.then(() =>
      this.#engine.read ? this.#fold(final) : this.#plain(final)
    );
    this.#lastTurn = turn.catch(() => undefined);
    await turn;
    return this.#reply;
  }

  /** Number of failure streaks so far. */
  get streak(): number {
    return this.#reducer.streak;
  }

  /** The end of the output that is not part of an event. */
  get stray(): string {
    return this.#reducer.stray;
  }

  async #fold(final: boolean): Promise<void> {
    const readEvents = () =>
      this.#lines.read((line) => this.#reducer.add(line), final);
    const readErrors = () =>
      this.#errorLines.read((line) => this.#reducer.addError(line));
    if (final || !this.#engine.readError) await readEvents();
    else await this.#inOrder(readEvents, readErrors);
    this.#reply = this.#reducer.reply;
  }

  /** The stream that was written to last is read last. */
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
    if (!existsSync(this.#path)) {
      this.#reply = { text: '', finished: final };
      return;
    }
    const ends = await readEnds(
      this.#path,
      plainEndChars,
      200,
      sizeOf(this.#path)
    );
    const { head, tail, totalChars } = ends;
    // The tail of a long output may begin within a word.
    const end =
      head.length + tail.length < totalChars
        ? tail.replace(/^\S+/, '')
        : head + tail;
    const progress = cutAtWord(end.trimEnd().split('\n').at(-1) ?? '', 120);
    this.#reply = {
      text: ends.head,
      finished: final,
      ...(progress === '' ? {} : { progress })
    };
  }
}

/**
 * The edits that the engine of a run has reported so far. An engine that was
 * ended may have made an edit without reporting it.
 */
export async function reportedEdits(
  { kind }: RunRecord,
  directory: string,
  engine: Engine | undefined
): Promise<Reply['edits']> {
  const readable = readableOf(kind, engine);
  if (!readable?.read) return undefined;
  const reader = new ReplyReader(readable, directory);
  const { edits, finished } = await reader.read(true);
  return edits && { ...edits, isAll: edits.isAll && finished };
}

function timeOf(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0;
}
