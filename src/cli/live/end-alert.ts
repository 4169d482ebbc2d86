import type { OnEnd } from '../../config/schema.ts';
import type { Run } from '../../core/runs/run.ts';
import { duration } from '../output/text.ts';

interface Terminal {
  isTTY?: boolean;
  write: (text: string) => unknown;
}

const bell = '\u0007';
const endOfSequence = '\u001b\\';

/** Rings the bell of a terminal, or shows a notification, when agents end. */
export class EndAlert {
  readonly #onEnd: OnEnd;
  readonly #terminal: Terminal;
  readonly #since: string;
  readonly #done = new Set<string>();

  /** @param now agents that ended before are not reported */
  constructor(onEnd: OnEnd, terminal: Terminal, now = new Date()) {
    this.#onEnd = onEnd;
    this.#terminal = terminal;
    this.#since = now.toISOString();
  }

  /** Reports each end once. Does nothing outside of a terminal. */
  report(runs: Run[]): void {
    for (const run of runs) {
      const { record, outcome } = run;
      const { agent_id: id } = record;
      if (!outcome || this.#done.has(id)) continue;
      this.#done.add(id);
      const isLong = outcome.duration_ms >= 1000 * this.#onEnd.minSeconds;
      if (!isLong || outcome.completed_at < this.#since) continue;
      const text = this.#sequence(run);
      if (text !== '' && this.#terminal.isTTY) this.#terminal.write(text);
    }
  }

  #sequence({ record, status, outcome }: Run): string {
    const { bell: rings, osc } = this.#onEnd;
    const ring = rings ? bell : '';
    if (osc === undefined) return ring;
    const seconds = (outcome?.duration_ms ?? 0) / 1000;
    // The agent's words and its task stay out: they are not ours.
    const engine = record.engine.replace(/[^\w.-]+/g, '_');
    const text = `${engine} ${record.agent_id} ${status} after ${duration(seconds)}`;
    return osc === 9
      ? `\u001b]9;troupe: ${text}${endOfSequence}${ring}`
      : `\u001b]777;notify;troupe;${text}${endOfSequence}${ring}`;
  }
}
