import { shortName, visibleText } from '../../../core/text.ts';
import type { Host } from '../../../host/host.ts';
import { RunOutput } from '../../board/run-output.ts';
import { outputState } from '../../board/watched-agent.ts';
import type { Revisions } from './row-log.ts';

/** How much was known at a revision. */
interface Mark {
  rev: number;
  /** The number of steps, dropped ones included. */
  steps: number;
  chars: number;
  sizes: string;
}

/** What a reader lacks of the output of one agent. */
export interface AgentChange {
  /** Whether the reader drops what it has. */
  isAll: boolean;
  /** The index of the first of `steps`; earlier ones are left out. */
  step: number;
  steps: string[];
  /** Where `text` begins in the whole text, in UTF-16 units. */
  offset: number;
  text: string;
  /** Changes with each write, so that the page loads new turns. */
  sizes: string;
}

/** A reader that lacks more gets no more than the end of the output. */
const mostSteps = 500;
const mostChars = 64 * 1024;
const mostMarks = 200;
export const mostStepChars = 500;

/** Steps and text of one agent that is at work. */
export class AgentTopic {
  readonly #host: Host;
  readonly #id: string;
  readonly #revisions: Revisions;
  #output: RunOutput | undefined;
  #sizes = '';
  #steps: string[] = [];
  #dropped = 0;
  #text = '';
  /** Oldest first. The first is of the last text that did not only grow. */
  #marks: Mark[] = [];

  constructor(host: Host, id: string, revisions: Revisions) {
    this.#host = host;
    this.#id = id;
    this.#revisions = revisions;
  }

  /** Reads what was added to the output, if it has grown. */
  async refresh(): Promise<void> {
    const { sizes } = outputState(this.#host, this.#id);
    if (sizes === this.#sizes) return;
    this.#sizes = sizes;
    const record = this.#host.store.recordOf(this.#id);
    if (!record) return;
    const directory = this.#host.store.directoryOf(this.#id);
    this.#output ??= new RunOutput(record, directory, this.#host.registry);
    const { steps, dropped, text: said } = await this.#output.read();
    const text = visibleText(said);
    const count = dropped + steps.length;
    const before = this.#marks.at(-1);
    if (before?.sizes === sizes) return;
    if (!text.startsWith(this.#text)) this.#marks = [];
    this.#steps = steps.map((step) => shortName(step, mostStepChars));
    this.#dropped = dropped;
    this.#text = text;
    const rev = this.#revisions.next();
    this.#marks.push({ rev, steps: count, chars: text.length, sizes });
    if (this.#marks.length > mostMarks) this.#marks.shift();
  }

  since(rev: number): AgentChange | undefined {
    const last = this.#marks.at(-1);
    if (!last || last.rev <= rev) return undefined;
    const known = this.#marks.findLast(
      (mark) => mark.rev <= rev && last.chars - mark.chars <= mostChars
    );
    const isAll = known === undefined;
    const step = Math.max(
      known?.steps ?? last.steps - mostSteps,
      this.#dropped
    );
    const offset = known?.chars ?? Math.max(0, last.chars - mostChars);
    return {
      isAll,
      step,
      steps: this.#steps.slice(step - this.#dropped),
      offset,
      text: this.#text.slice(offset),
      sizes: last.sizes
    };
  }
}
