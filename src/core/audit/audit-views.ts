import { statSync } from 'node:fs';
import { type ActiveAgent, writeContext } from './context-view.ts';
import { IacView, type IacViewOptions } from './iac-view.ts';
import type { Journal } from './journal.ts';
import { journalSize } from './journal.ts';

export interface AuditViewsOptions extends Omit<IacViewOptions, 'journal'> {
  journal: Journal;
  /** Who is at work now, in any server. */
  active: () => Promise<ActiveAgent[]>;
  onProblem: (problem: unknown) => void;
}

/** Whoever renders, IAC.md changes at most this often. */
const intervalMs = 1000;

/** Keeps IAC.md and CONTEXT.md true to the journal while a process lives. */
export class AuditViews {
  readonly #options: AuditViewsOptions;
  readonly #iac: IacView;
  #shownActive: string | undefined;
  #work: Promise<void> = Promise.resolve();
  #timer: NodeJS.Timeout | undefined;

  constructor(options: AuditViewsOptions) {
    this.#options = options;
    this.#iac = new IacView({ ...options, journal: options.journal.path });
  }

  /** Something changed: renders soon, at most once a second. */
  touch(): void {
    if (this.#timer) return;
    const file = statSync(this.#iac.path, { throwIfNoEntry: false });
    const age = file ? Math.abs(Date.now() - file.mtimeMs) : intervalMs;
    this.#timer = setTimeout(
      () => {
        this.#timer = undefined;
        void this.refresh();
      },
      Math.max(20, intervalMs - age - 100)
    );
    this.#timer.unref();
  }

  /** Renders now what is not shown yet. Never rejects: it tells onProblem. */
  refresh(): Promise<void> {
    // One after the other, however many ask at once.
    this.#work = this.#work
      .then(() => this.#render())
      .catch(this.#options.onProblem);
    return this.#work;
  }

  async #render(): Promise<void> {
    const { journal, logDirectory } = this.#options;
    const active = (await this.#options.active()).map((agent) =>
      this.#clean(agent)
    );
    const ids = active
      .map(({ agent_id, queued }) => `${agent_id}${queued ? '?' : ''}`)
      .join(' ');
    const size = journalSize(journal.path);
    const isFirst = this.#shownActive === undefined;
    const same = ids === this.#shownActive || (isFirst && ids === '');
    const isShown = same && this.#iac.shownOffset() === size;
    if (size === 0 && active.length === 0 && !this.#iac.exists()) return;
    // Before IAC.md, whose last line says that both are up to date.
    if (isFirst || !isShown) writeContext(logDirectory, active);
    if (!isShown) await this.#iac.render(active);
    this.#shownActive = ids;
  }

  /** Records of runs hold what was asked as it was asked. */
  #clean(agent: ActiveAgent): ActiveAgent {
    const { redact } = this.#options;
    const { agent_id, label, kind, model, task, created_at, queued } = agent;
    return {
      ...{ agent_id, label, kind, created_at, queued },
      model: model === null ? null : redact(model),
      task: redact(task)
    };
  }
}
