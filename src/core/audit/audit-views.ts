import { existsSync, statSync } from 'node:fs';
import { soon } from '../soon.ts';
import { type ActiveAgent, contextPath, writeContext } from './context-view.ts';
import { IacView, type IacViewOptions } from './iac-view.ts';
import type { Journal } from './journal.ts';
import type { Rotation } from './rotation.ts';

export interface AuditViewsOptions extends IacViewOptions {
  journal: Journal;
  /** Without it the journal grows for ever. */
  rotation?: Rotation;
  /** Who is at work now, in any server. */
  active: () => Promise<ActiveAgent[]>;
  onProblem: (problem: unknown) => void;
}

/** Whoever renders, IAC.md changes at most this often. */
const intervalMs = 1000;
/** A rotation that takes longer goes on meanwhile. */
const rotationMs = 1000;

/** Keeps IAC.md and CONTEXT.md true to the journal while a process lives. */
export class AuditViews {
  readonly #options: AuditViewsOptions;
  readonly #iac: IacView;
  #shownActive: string | undefined;
  #work: Promise<void> = Promise.resolve();
  #timer: NodeJS.Timeout | undefined;

  constructor(options: AuditViewsOptions) {
    this.#options = options;
    this.#iac = new IacView(options);
  }

  /** Something changed: renders soon, at most once a second. */
  touch(): void {
    if (this.#timer) return;
    const age = this.#age();
    this.#timer = setTimeout(
      () => {
        this.#timer = undefined;
        void this.refresh();
      },
      Math.max(20, intervalMs - age - 100)
    );
    this.#timer.unref();
  }

  /** Milliseconds since IAC.md was written. */
  #age(): number {
    const { paths } = this.#options;
    if (!existsSync(paths.record)) return intervalMs;
    try {
      const file = statSync(this.#iac.path, { throwIfNoEntry: false });
      return file ? Math.abs(Date.now() - file.mtimeMs) : intervalMs;
    } catch {
      // Its place cannot be read; the rendering reports why.
      return intervalMs;
    }
  }

  /** Renders now what is not shown yet. Never rejects: it tells onProblem. */
  refresh(): Promise<void> {
    // One after the other, however many ask at once.
    this.#work = this.#work
      .then(() => this.#render())
      .catch((problem) => this.#report(problem));
    return this.#work;
  }

  /** Moved away while it was written to, it has no problem. */
  #report(problem: unknown): void {
    const { paths, onProblem } = this.#options;
    if (existsSync(paths.workspace)) onProblem(problem);
  }

  async #render(): Promise<void> {
    const { paths, identity } = this.#options;
    // Then there is nothing to show, and nothing that is no longer true.
    if (!existsSync(paths.journal) && !existsSync(paths.views.directory))
      return;
    if (!existsSync(paths.record)) return;
    const active = await this.#options.active();
    const ids = active
      .map(({ agent_id, queued }) => `${agent_id}${queued ? '?' : ''}`)
      .join(' ');
    const shown = this.#iac.look();
    await this.#rotate(shown.currentSize);
    const isFirst = this.#shownActive === undefined;
    const same = isFirst
      ? ids === '' && !this.#iac.showsSomebody()
      : ids === this.#shownActive;
    const context = contextPath(paths.views.directory, identity());
    const isShown = same && shown.isShown && existsSync(context);
    if (shown.size === 0 && active.length === 0 && !this.#iac.exists()) return;
    // Moved away under us: it does not come back by our hand.
    if (!existsSync(paths.workspace)) return;
    if (isShown && !isFirst) return;
    const clean = active.map((agent) => this.#clean(agent));
    // Before IAC.md, whose last line says that both are up to date.
    await writeContext(paths.views.directory, identity(), clean);
    if (!isShown) await this.#iac.render(clean);
    this.#shownActive = ids;
  }

  /** Moves no place in the journal, so the views stay as they are. */
  async #rotate(currentSize: number): Promise<void> {
    const { rotation } = this.#options;
    if (rotation && currentSize > rotation.maximumBytes)
      await soon(rotation.run(), rotationMs, undefined);
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
