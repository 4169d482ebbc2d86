import { join } from 'node:path';
import type { EngineRegistry } from '../../core/engines/engine-registry.ts';
import { readerOf } from '../../core/engines/template/template-engine.ts';
import { EventReducer } from '../../core/runs/end/event-reducer.ts';
import { readableOf } from '../../core/runs/end/reply-reader.ts';
import type { RunRecord } from '../../core/runs/run.ts';
import { LineReader } from '../../core/state/files/line-reader.ts';
import { tailOf } from '../../core/state/files/text-file.ts';
import { plainText, terminalLine } from '../../core/text.ts';

const maximumLineBytes = 32 * 1024 * 1024;
/** Steps of an agent that are kept for scrolling back. */
const mostSteps = 5000;
/** Bytes at the end of the output of a program without events. */
const plainBytes = 256 * 1024;

/** What a running agent has done and said. */
export interface SoFar {
  /** Its last steps, each on one line; oldest first. */
  steps: readonly string[];
  /** The number of earlier steps, which are not kept. */
  dropped: number;
  text: string;
}

/** Steps and text of a running agent; each call of `read` adds new output. */
export class RunOutput {
  readonly #path: string;
  readonly #lines: LineReader;
  readonly #reducer: EventReducer | undefined;
  readonly #steps: string[] = [];
  /** Steps that are no longer kept. */
  #dropped = 0;

  constructor(record: RunRecord, directory: string, registry: EngineRegistry) {
    this.#path = join(directory, 'stdout');
    this.#lines = new LineReader(this.#path, maximumLineBytes);
    const readable = readableOf(record.kind, readerOf(record, registry));
    this.#reducer = readable?.read ? new EventReducer(readable) : undefined;
  }

  async read(): Promise<SoFar> {
    const reducer = this.#reducer;
    if (!reducer)
      return {
        steps: [],
        dropped: 0,
        text: plainText(tailOf(this.#path, plainBytes))
      };
    let last = this.#steps.at(-1);
    await this.#lines.read((line) => {
      reducer.add(line);
      const step = terminalLine(reducer.reply.progress ?? '');
      if (step === '' || step === last) return;
      last = step;
      this.#steps.push(step);
    });
    const extra = Math.max(0, this.#steps.length - mostSteps);
    this.#steps.splice(0, extra);
    this.#dropped += extra;
    const text = plainText(reducer.reply.text);
    return { steps: this.#steps, dropped: this.#dropped, text };
  }
}
