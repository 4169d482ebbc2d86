import type { CliEngine, Failure, Reply } from '../../plugin.ts';
import { EngineFault, wordsOf } from '../engines/engine-fault.ts';

/** As much of an engine as its output needs to be read. */
export type Readable = Pick<CliEngine, 'name' | 'read'>;

/**
 * A reply in the making, line by line. Lines that are not JSON are passed
 * over. Where its plugin throws, the run has failed for good, whatever the
 * plugin makes of later lines.
 */
export class Fold {
  reply: Reply = { text: '', finished: false };
  readonly #engine: Readable;
  #fault: Failure | undefined;

  constructor(engine: Readable) {
    this.#engine = engine;
  }

  add(line: string): void {
    const event = parse(line);
    if (event === undefined || !this.#engine.read) return;
    try {
      this.reply = this.#engine.read(this.reply, event);
    } catch (error) {
      this.#fault ??= this.#failureOf(error);
    }
    if (this.#fault) this.reply = { ...this.reply, failure: this.#fault };
  }

  #failureOf(error: unknown): Failure {
    if (error instanceof EngineFault) return error.failure;
    const message = `The plugin ${this.#engine.name} could not read its output: ${wordsOf(error)}`;
    return { code: 'bad_output', message };
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
