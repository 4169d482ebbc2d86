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
  #shownActive = '';
  #work: Promise<void> | undefined;
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
  async refresh(): Promise<void> {
    await this.#work;
    this.#work = this.#render().catch(this.#options.onProblem);
    await this.#work;
  }

  async #render(): Promise<void> {
    const { journal, logDirectory } = this.#options;
    const active = await this.#options.active();
    const ids = active.map((agent) => agent.agent_id).join(' ');
    const size = journalSize(journal.path);
    const same = ids === this.#shownActive;
    if (same && this.#iac.shownOffset() === size) return;
    if (size === 0 && active.length === 0 && !this.#iac.exists()) return;
    await this.#iac.render(active);
    writeContext(logDirectory, active);
    this.#shownActive = ids;
  }
}
