import { existsSync, statSync } from 'node:fs';
import { withTimeout } from '../../timing.ts';
import type { Journal } from '../journal/journal.ts';
import type { Rotation } from '../journal/rotation.ts';
import { type ActiveAgent, contextPath, writeContext } from './context-view.ts';
import { IacView, type IacViewOptions } from './iac-view.ts';
import { isOwnView } from './view-file.ts';

interface AuditViewsOptions extends IacViewOptions {
  journal: Journal;
  /** If undefined, the journal grows without limit. */
  rotation?: Rotation;
  /** The active agents of all servers. */
  active: () => Promise<ActiveAgent[]>;
  onProblem: (problem: unknown) => void;
}

/** The minimum time between two renderings of IAC.md, by any server. */
const intervalMs = 1000;
/** How long a rendering waits for a rotation, which then continues. */
const rotationMs = 1000;

/** Keeps IAC.md and CONTEXT.md up to date while this process lives. */
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

  /** Schedules a throttled rendering after a change. */
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

  /** Milliseconds since IAC.md was written; `intervalMs` if unknown. */
  #age(): number {
    const { paths } = this.#options;
    if (!existsSync(paths.record)) return intervalMs;
    try {
      const file = statSync(this.#iac.path, { throwIfNoEntry: false });
      return file ? Math.abs(Date.now() - file.mtimeMs) : intervalMs;
    } catch {
      // The rendering reports the error.
      return intervalMs;
    }
  }

  /** Renders pending changes now. Never rejects; `onProblem` gets the error. */
  refresh(): Promise<void> {
    // Renderings are serialized.
    this.#work = this.#work
      .then(() => this.#render())
      .catch((problem) => this.#report(problem));
    return this.#work;
  }

  /** Ignores errors after the workspace was moved away. */
  #report(problem: unknown): void {
    const { paths, onProblem } = this.#options;
    if (existsSync(paths.workspace)) onProblem(problem);
  }

  async #render(): Promise<void> {
    const { paths, identity } = this.#options;
    // There is nothing to show, and no view that could be stale.
    if (!existsSync(paths.journal) && !existsSync(paths.views.directory))
      return;
    if (!existsSync(paths.record)) return;
    const active = await this.#options.active();
    const ids = active
      .map(
        ({ agent_id, queued, asking }) =>
          `${agent_id}${queued ? '?' : ''}${asking ? '!' : ''}`
      )
      .join(' ');
    const shown = this.#iac.look();
    await this.#rotate(shown.currentSize);
    const isFirst = this.#shownActive === undefined;
    const same = isFirst
      ? ids === '' && !this.#iac.showsActiveAgents()
      : ids === this.#shownActive;
    const context = contextPath(paths.views.directory, identity());
    const isShown = same && shown.isShown && existsSync(context);
    const isLeft = this.#iac.exists() || isOwnView(context, identity());
    if (shown.size === 0 && active.length === 0 && !isLeft) return;
    // Does not recreate a workspace that was moved away.
    if (!existsSync(paths.workspace)) return;
    if (isShown && !isFirst) return;
    const clean = active.map((agent) => this.#clean(agent));
    // Before IAC.md, whose footer marks both views as up to date.
    await writeContext(paths.views.directory, identity(), clean);
    if (!isShown) await this.#iac.render(clean);
    this.#shownActive = ids;
  }

  /** A rotation keeps all positions, so the bookmarks of views stay valid. */
  async #rotate(currentSize: number): Promise<void> {
    const { rotation } = this.#options;
    if (rotation && currentSize > rotation.maximumBytes)
      await withTimeout(rotation.run(), rotationMs, undefined);
  }

  /** Redacts the agent's fields, because records of runs are not redacted. */
  #clean(agent: ActiveAgent): ActiveAgent {
    const { redact } = this.#options;
    const { agent_id, label, kind, model, task, created_at } = agent;
    const { queued, asking = false } = agent;
    return {
      ...{ agent_id, label, kind, created_at, queued, asking },
      model: model === null ? null : redact(model),
      task: redact(task)
    };
  }
}
