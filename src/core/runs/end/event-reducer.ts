import type { CliEngine, Failure, Reply } from '../../../plugin/plugin.ts';
import { resumedType } from '../../asks/parking.ts';
import { EngineFault, wordsOf } from '../../engines/failures.ts';

/** The part of an engine that reads its output. */
export type Readable = Pick<CliEngine, 'name' | 'read' | 'readError'>;

/** Characters that are kept of the output that is not part of an event. */
const strayChars = 8192;

/**
 * Reduces the lines of an output to a reply. Lines that are not JSON are
 * skipped, but their end is kept, because it may hold the reason of a failure.
 * Once the plugin's `read` throws, the run has failed, whatever lines follow.
 */
export class EventReducer {
  reply: Reply = { text: '', finished: false };
  /** Number of failure streaks so far. A streak begins with `retrying`. */
  streak = 0;
  #stray = '';
  readonly #engine: Readable;
  #fault: Failure | undefined;
  #latest: 'text' | 'progress' = 'progress';
  #ignoresErrors = false;
  /** Whether the output is of several programs, one after the other. */
  #isResumed = false;

  constructor(engine: Readable) {
    this.#engine = engine;
  }

  /** The end of the output that is not part of an event. */
  get stray(): string {
    return this.#stray.slice(-strayChars);
  }

  /** The text or the progress, whichever was reported last. */
  get lastWords(): string | undefined {
    const { text, progress } = this.reply;
    if (this.#latest === 'text' && text !== '') return text;
    return progress?.replace(/[\r\n]+/g, ' ');
  }

  add(line: string): void {
    const event = parse(line);
    if (event === undefined) this.#keepStray(line);
    if (event === undefined || !this.#engine.read) return;
    if (isResumption(event)) {
      this.#resume();
      return;
    }
    const before = this.reply;
    try {
      this.reply = this.#whole(this.#engine.read(before, event));
      this.#countStreak(before.retrying);
      this.#noteLatest(before);
    } catch (error) {
      this.#fault ??= this.#failureOf(error);
    }
    if (this.#fault) this.reply = { ...this.reply, failure: this.#fault };
  }

  /**
   * Takes only progress and retries from a line of stderr. A plugin that throws
   * here is not called again, but the run goes on.
   */
  addError(line: string): void {
    const { readError } = this.#engine;
    if (!readError || this.#ignoresErrors) return;
    try {
      const { progress, retrying } = readError(this.reply, line);
      const { progress: _, retrying: before, ...rest } = this.reply;
      this.reply = {
        ...rest,
        ...(progress !== undefined && { progress }),
        ...(retrying && { retrying })
      };
      this.#countStreak(before);
    } catch {
      this.#ignoresErrors = true;
    }
  }

  /** The end of a program whose run was parked says nothing about the run. */
  #resume(): void {
    this.#isResumed = true;
    const { failure, retrying, ...rest } = this.reply;
    this.reply = this.#whole({ ...rest, text: '', finished: false });
  }

  /** What one of several programs has used is not what the run has. */
  #whole(reply: Reply): Reply {
    if (!this.#isResumed) return reply;
    const { usage, usageScope, costUsd, ...rest } = reply;
    return rest;
  }

  #noteLatest({ text, progress }: Reply): void {
    const { reply } = this;
    if (reply.progress && reply.progress !== progress)
      this.#latest = 'progress';
    else if (reply.text !== text) this.#latest = 'text';
  }

  #countStreak(before: Reply['retrying']): void {
    if (this.reply.retrying && !before) this.streak += 1;
  }

  #keepStray(line: string): void {
    const words = line.slice(-strayChars).trim();
    if (words === '') return;
    this.#stray += `${words}\n`;
    // Truncated rarely, because each truncation creates garbage.
    if (this.#stray.length > 16 * strayChars) this.#stray = this.stray;
  }

  #failureOf(error: unknown): Failure {
    if (error instanceof EngineFault) return error.failure;
    const message = `The plugin ${this.#engine.name} could not read its output: ${wordsOf(error)}`;
    return { code: 'bad_output', message };
  }
}

/** Undefined for a line that is not a JSON object or array. */
function parse(line: string): unknown {
  const first = line.trimStart()[0];
  if (first !== '{' && first !== '[') return undefined;
  try {
    return JSON.parse(line);
  } catch {
    return undefined;
  }
}

function isResumption(event: unknown): boolean {
  return Object(event).type === resumedType;
}
