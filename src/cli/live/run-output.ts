import { join } from 'node:path';
import { soFar } from '../../core/engines/api-task.ts';
import type { EngineRegistry } from '../../core/engines/engine-registry.ts';
import { readerOf } from '../../core/engines/template-engine.ts';
import { Fold } from '../../core/runs/fold.ts';
import { readableOf } from '../../core/runs/reply-reader.ts';
import type { RunRecord } from '../../core/runs/run.ts';
import { LineReader } from '../../core/state/line-reader.ts';
import { tailOf } from '../../core/state/text-file.ts';
import { plainText } from '../plain-text.ts';
import { oneLine } from '../text.ts';

const maximumLineBytes = 32 * 1024 * 1024;
/** Steps that are kept for who looks back. */
const mostSteps = 5000;
/** Of what a program prints that has no events. */
const plainBytes = 256 * 1024;

/** What an agent at work has done and said so far, read on from call to call. */
export class RunOutput {
  readonly #path: string;
  readonly #lines: LineReader;
  readonly #fold: Fold | undefined;
  readonly #steps: string[] = [];

  constructor(record: RunRecord, directory: string, registry: EngineRegistry) {
    this.#path = join(directory, 'stdout');
    this.#lines = new LineReader(this.#path, maximumLineBytes);
    const readable = readableOf(record.kind, readerOf(record, registry));
    this.#fold = readable?.read ? new Fold(readable) : undefined;
  }

  async read(): Promise<string> {
    const fold = this.#fold;
    if (!fold) return plainText(tailOf(this.#path, plainBytes));
    let last = this.#steps.at(-1);
    await this.#lines.read((line) => {
      fold.add(line);
      const step = oneLine(fold.reply.progress ?? '');
      // Of a text that is shown, its length is no step.
      if (step === soFar(fold.reply.text.length)) return;
      if (step === '' || step === last) return;
      last = step;
      this.#steps.push(step);
    });
    this.#steps.splice(0, this.#steps.length - mostSteps);
    const steps = this.#steps.map((step) => `- ${step}`).join('\n');
    const text = plainText(fold.reply.text);
    return [steps, text].filter(Boolean).join('\n\n');
  }
}
