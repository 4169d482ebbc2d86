import { join } from 'node:path';
import type { CliEngine, Engine, Reply } from '../../plugin.ts';
import { readApiEvent } from '../engines/api-task.ts';
import { LineReader } from '../state/line-reader.ts';
import { readEnds, sizeOf } from '../state/text-file.ts';

import type { RunRecord } from './run.ts';

/** A longer line of JSON is not a reply any more. */
const maximumLineBytes = 32 * 1024 * 1024;
/** How much of a plain engine's stdout is kept in memory. */
const plainEndChars = 32 * 1024;

/** As much of an engine as its output needs to be read. */
type Readable = Pick<CliEngine, 'name' | 'read'>;

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
 * stopped the last time. Lines that are not JSON are passed over.
 */
export class ReplyReader {
  readonly #engine: Readable;
  readonly #path: string;
  readonly #lines: LineReader;
  #busy: Promise<void> = Promise.resolve();
  #reply: Reply = { text: '', finished: false };

  constructor(engine: Readable, directory: string) {
    this.#engine = engine;
    this.#path = join(directory, 'stdout');
    this.#lines = new LineReader(this.#path, maximumLineBytes);
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

  async #fold(final: boolean): Promise<void> {
    await this.#lines.read((line) => {
      const event = parse(line);
      if (event === undefined) return;
      this.#reply = this.#foldOne(event);
    }, final);
  }

  /** A plugin that throws costs its event, never the run. */
  #foldOne(event: unknown): Reply {
    try {
      return this.#engine.read?.(this.#reply, event) ?? this.#reply;
    } catch (error) {
      const message = error instanceof Error ? error.message : String(error);
      return {
        ...this.#reply,
        failure: {
          code: 'bad_output',
          message: `The plugin ${this.#engine.name} could not read its output: ${message}`
        }
      };
    }
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

/** Undefined for anything that is not JSON. */
function parse(line: string): unknown {
  const first = line.trimStart()[0];
  if (first !== '{' && first !== '[') return undefined;
  try {
    return JSON.parse(line);
  } catch {
    return undefined;
  }
}
