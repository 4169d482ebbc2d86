import type { CliEngine, Failure, Reply } from '../../plugin.ts';
import { EngineFault, wordsOf } from '../engines/engine-fault.ts';

/** As much of an engine as its output needs to be read. */
export type Readable = Pick<CliEngine, 'name' | 'read' | 'readError'>;

/** Of what is no event, as much is kept. */
const strayChars = 2000;

/**
 * A reply in the making, line by line. Lines that are not JSON are passed
 * over; their end is kept for who looks for a reason. Where its plugin throws,
 * the run has failed for good, whatever the plugin makes of later lines.
 */
export class Fold {
  reply: Reply = { text: '', finished: false };
  /** Rows of failures so far: one begins when `retrying` appears. */
  row = 0;
  #stray = '';
  readonly #engine: Readable;
  #fault: Failure | undefined;
  #isDeaf = false;

  constructor(engine: Readable) {
    this.#engine = engine;
  }

  /** The end of what the program said in plain text. */
  get stray(): string {
    return this.#stray.slice(-strayChars);
  }

  add(line: string): void {
    const event = parse(line);
    if (event === undefined) this.#keep(line);
    if (event === undefined || !this.#engine.read) return;
    const { retrying } = this.reply;
    try {
      this.reply = this.#engine.read(this.reply, event);
      this.#countRow(retrying);
    } catch (error) {
      this.#fault ??= this.#failureOf(error);
    }
    if (this.#fault) this.reply = { ...this.reply, failure: this.#fault };
  }

  /**
   * A line of stderr, from which only what the run is doing is taken. A plugin
   * that throws here is not asked again: nothing depends on its answer.
   */
  addError(line: string): void {
    const { readError } = this.#engine;
    if (!readError || this.#isDeaf) return;
    try {
      const { progress, retrying } = readError(this.reply, line);
      const { progress: _, retrying: before, ...rest } = this.reply;
      this.reply = {
        ...rest,
        ...(progress !== undefined && { progress }),
        ...(retrying && { retrying })
      };
      this.#countRow(before);
    } catch {
      this.#isDeaf = true;
    }
  }

  #countRow(before: Reply['retrying']): void {
    if (this.reply.retrying && !before) this.row += 1;
  }

  #keep(line: string): void {
    const words = line.slice(-strayChars).trim();
    if (words === '') return;
    this.#stray += `${words}\n`;
    // Not at each of a million lines, which would make much garbage.
    if (this.#stray.length > 16 * strayChars) this.#stray = this.stray;
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
