import { existsSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { messageOf } from '../errors.ts';
import type { Processes } from '../runs/ports.ts';
import type { RunRecord } from '../runs/run.ts';
import { claimOf, touchStarting } from '../runs/run-files.ts';
import type { RunStore } from '../runs/run-store.ts';
import { remove, temporaryName } from '../state/atomic-file.ts';
import { ensureDirectory } from '../state/directories.ts';
import { companyOf, noteCompany } from './beside.ts';
import {
  type Changes,
  changesOf,
  keepChanges,
  settlePatch
} from './change-file.ts';
import { makeBelow } from './isolation.ts';
import { awaitOthers, beginLook, endLook, lateness } from './look-file.ts';
import { LookTime } from './look-time.ts';
import type { Repositories, View, Worktree } from './ports.ts';
import { TimeLimit } from './time-limit.ts';

export interface WitnessDependencies {
  repositories: Repositories;
  store: RunStore;
  processes: Processes;
  workspace: string;
}

/** Files named in an answer. */
const namedFiles = 100;
const worktreeMs = 60_000;
/** An agent that is being prepared is looked after this often. */
const holdMs = 250;
/** A repository that was too slow is left alone for so long. */
const restMs = 10 * 60_000;

/**
 * Sees for itself what agents change: it looks at the repository before an
 * agent starts and after it has ended. It takes nobody's word, and whatever
 * goes wrong with it, the run goes on and a note says so.
 */
export class Witness {
  readonly #with: WitnessDependencies;
  readonly #limits = new TimeLimit();
  readonly #slow = new Map<string, number>();
  readonly #time = new LookTime();

  constructor(dependencies: WitnessDependencies) {
    this.#with = dependencies;
  }

  /**
   * Before an agent starts: makes its worktree and looks. Undefined, at once,
   * where there is nothing to do; rejects when there is no worktree for it.
   */
  prepare(record: RunRecord): Promise<void> | undefined {
    const { cwd, kind, worktree } = record;
    if (kind !== 'cli') return undefined;
    if (!worktree && !this.#with.repositories.topOf(cwd)) return undefined;
    return this.#prepare(record);
  }

  async #prepare(record: RunRecord): Promise<void> {
    const directory = this.#with.store.directoryOf(record.agent_id);
    const unwanted = new AbortController();
    // Its place is held for it, however long git takes.
    const holding = setInterval(() => {
      touchStarting(directory);
      if (claimOf(directory, record.owner.place))
        unwanted.abort(new Error('it was canceled'));
    }, holdMs);
    try {
      if (record.worktree) await this.#settleIn(record.worktree, record.cwd);
      await this.#remember(record, directory, unwanted.signal);
    } finally {
      clearInterval(holding);
    }
  }

  async #settleIn(worktree: Worktree, cwd: string): Promise<void> {
    ensureDirectory(join(worktree.path, '..'));
    const { repositories } = this.#with;
    await this.#limits
      .within(worktreeMs, (signal) =>
        repositories.addWorktree(worktree, signal)
      )
      .catch((error: unknown) => {
        throw new Error(`there is no worktree for it: ${messageOf(error)}`);
      });
    makeBelow(worktree.path, cwd);
  }

  async #remember(
    record: RunRecord,
    directory: string,
    unwanted: AbortSignal
  ): Promise<void> {
    const view = this.#viewOf(record, directory);
    const since = this.#slow.get(record.cwd);
    if (since !== undefined && performance.now() - since < restMs)
      return this.#keepNote(directory, 'git was too slow here a moment ago');
    const { repositories } = this.#with;
    const began = performance.now();
    try {
      noteCompany(record, this.#with);
      await this.#limits.within(
        this.#time.firstMs,
        (signal) => repositories.remember(view, signal),
        unwanted
      );
      this.#time.note(record.agent_id, began);
    } catch (error) {
      if (TimeLimit.isPassed(error))
        this.#slow.set(record.cwd, performance.now());
      await removeTree(view.shadow);
      this.#keepNote(directory, messageOf(error));
    }
  }

  /** Before the start there was no look, so there is none to come. */
  #keepNote(directory: string, because: string): void {
    const note = `The files were not compared: ${because}.`;
    try {
      keepChanges(directory, { v: 1, patch: null, note });
    } catch {
      // A full disk: then nothing is said about the files.
    }
  }

  /**
   * After the end of an agent, before that end is recorded: looks again and
   * writes down what changed. Once, whoever asks; it never rejects.
   */
  async conclude(record: RunRecord): Promise<void> {
    const { store, processes } = this.#with;
    const { agent_id: id } = record;
    const directory = store.directoryOf(id);
    const claim = claimOf(directory, record.owner.place);
    if (!claim || claim.never) {
      if (processes.liveness(record.owner) === 'dead')
        await this.discard(record);
      return;
    }
    const left = this.#time.start(id);
    try {
      await this.#look(record, directory, left());
      settlePatch(directory);
      if (changesOf(directory)?.total === 0 && record.worktree)
        await this.#clear(record.worktree, left());
    } catch (error) {
      this.#keepNote(directory, messageOf(error));
    }
    await removeTree(shadowOf(directory));
  }

  /** The agent never started: what was prepared for it goes. */
  async discard(record: RunRecord): Promise<void> {
    const directory = this.#with.store.directoryOf(record.agent_id);
    const left = this.#time.start(record.agent_id);
    await removeTree(shadowOf(directory));
    await removeTree(join(directory, 'changes.json'));
    if (record.worktree)
      await this.#clear(record.worktree, left()).catch(() => undefined);
  }

  /** This process is ending: from here on git is given a second at most. */
  hurry(): void {
    this.#limits.shorten(1000);
  }

  async #look(
    record: RunRecord,
    directory: string,
    mostMs: number
  ): Promise<void> {
    if (changesOf(directory) || !existsSync(shadowOf(directory))) return;
    const { repositories, processes } = this.#with;
    if (!beginLook(directory, processes.self)) {
      await awaitOthers(directory, processes);
      if (changesOf(directory)) return;
    }
    const patch = temporaryName(join(directory, 'changes.diff'));
    const late = lateness(directory);
    try {
      const found = await this.#limits.within(mostMs, (signal) =>
        repositories.compare(
          this.#viewOf(record, directory),
          patch,
          namedFiles,
          signal
        )
      );
      if (!found) return;
      const { files, total, unseen } = found;
      const company = total > 0 ? companyOf(directory) : undefined;
      const note = [company, unseen, late].filter(Boolean).join(' ');
      keepChanges(directory, {
        v: 1,
        files,
        total,
        patch: total > 0 ? nameOf(patch, directory) : null,
        ...(note === '' ? {} : { note })
      } satisfies Changes);
    } catch (error) {
      remove(patch);
      // Somebody else may have been done meanwhile.
      if (!changesOf(directory)) this.#keepNote(directory, messageOf(error));
    } finally {
      endLook(directory);
    }
  }

  async #clear(worktree: Worktree, mostMs: number): Promise<void> {
    const { repositories } = this.#with;
    await this.#limits.within(mostMs, (signal) =>
      repositories.removeUntouched(worktree, signal)
    );
  }

  #viewOf({ cwd, worktree }: RunRecord, directory: string): View {
    const { workspace } = this.#with;
    const root = worktree
      ? join(worktree.path, relative(worktree.origin, workspace))
      : workspace;
    return {
      directory: cwd,
      shadow: shadowOf(directory),
      roots: [root],
      ...(worktree ? { base: worktree.base } : {})
    };
  }
}

function shadowOf(directory: string): string {
  return join(directory, 'before');
}

function nameOf(path: string, directory: string): string {
  return relative(directory, path);
}

/** Git of a server that was killed may still write into it. */
async function removeTree(path: string): Promise<void> {
  const options = { recursive: true, force: true, maxRetries: 3 };
  await rm(path, options).catch(() => undefined);
}
