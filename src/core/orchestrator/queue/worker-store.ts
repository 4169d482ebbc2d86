import { randomBytes } from 'node:crypto';
import { existsSync, lstatSync, readdirSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { errnoOf, HostError, storageError } from '../../errors.ts';
import { lazy } from '../../lazy.ts';
import { isAgentId } from '../../runs/run.ts';
import {
  readIfExists,
  remove,
  replaceFile,
  writeNew
} from '../../state/files/atomic-file.ts';
import {
  ensureDirectory,
  isRealDirectory
} from '../../state/files/directories.ts';
import { FileLock, type LivenessCheck } from '../../state/locks/file-lock.ts';
import { LockQueue } from '../../state/locks/lock-queue.ts';
import { Broadcast } from './broadcast.ts';
import {
  parseMeta,
  type Terms,
  termsSchema,
  type WorkerMeta
} from './records.ts';
import {
  broadcastPaths,
  copyMeta,
  restoreView,
  WorkerFolder,
  type WorkerPaths,
  workersIn
} from './worker-folder.ts';
import { WorkerLog } from './worker-log.ts';

const requestSchema = lazy(() =>
  z.object({
    /** The full text of the role. */
    role: z.string(),
    env: z.record(z.string(), z.string()),
    /** The worker's nesting depth; absent in old records. */
    depth: z.number().default(1),
    terms: termsSchema()
  })
);

/** The data for a restart in addition to the meta; may hold secrets. */
export type WorkerRequest = z.output<ReturnType<typeof requestSchema>>;

export interface Worker {
  meta: WorkerMeta;
  folder: WorkerFolder;
  log: WorkerLog;
}

/** The workers of a workspace, as stored on disk. */
export class WorkerStore {
  readonly #paths: WorkerPaths;
  readonly #processes: LivenessCheck;
  readonly #lock: FileLock;
  readonly #works: LockQueue<() => void>;
  readonly #logs = new Map<string, WorkerLog>();
  readonly #terms = new Map<string, Terms>();
  readonly #broadcasts = new Map<string, Broadcast>();
  readonly #lost = new Map<string, string>();

  constructor(paths: WorkerPaths, processes: LivenessCheck) {
    this.#paths = paths;
    this.#processes = processes;
    const directory = workersIn(paths);
    const lock = join(directory, 'lock');
    this.#lock = new FileLock(lock, `${lock}.servers`, processes);
    this.#works = new LockQueue(
      this.#lock,
      () => ensureDirectory(directory),
      (works) => {
        for (const work of works) work();
      }
    );
  }

  /** All stored workers, oldest first, including those that are over. */
  all(): Worker[] {
    return this.ids()
      .flatMap((id) => this.find(id) ?? [])
      .sort((a, b) => (a.meta.created_at < b.meta.created_at ? -1 : 1));
  }

  ids(): string[] {
    try {
      const names = readdirSync(workersIn(this.#paths));
      return names.filter(isAgentId);
    } catch (error) {
      if (errnoOf(error) === 'ENOENT') return [];
      throw error;
    }
  }

  find(agentId: string): Worker | undefined {
    if (!isAgentId(agentId)) return undefined;
    const folder = this.folderOf(agentId);
    // A link may lead to the files of another user.
    const isThere = isRealDirectory(folder.private) && hasLogs(folder);
    const meta = isThere ? metaAt(folder.meta) : undefined;
    if (!meta || meta === 'damaged') {
      this.#logs.delete(agentId);
      return undefined;
    }
    const log =
      this.#logs.get(agentId) ?? new WorkerLog(folder, this.#processes);
    this.#logs.set(agentId, log);
    return { meta, folder, log };
  }

  /** @throws HostError `unknown_agent` */
  get(agentId: string): Worker {
    const worker = this.find(agentId);
    if (worker) return worker;
    const lost = this.#lost.get(agentId);
    throw new HostError(
      'unknown_agent',
      lost ?? `There is no worker "${agentId.slice(0, 60)}" in this workspace.`,
      'The list of workers shows all; agents of spawn tools are not workers.'
    );
  }

  /** True only if the worker's record is certainly missing or damaged. */
  isGone(agentId: string): boolean {
    if (!isAgentId(agentId)) return false;
    const { private: folder, meta, inbox, outbox } = this.folderOf(agentId);
    const isMissing = (path: string) => {
      try {
        return !lstatSync(path, { throwIfNoEntry: false });
      } catch {
        // An unreadable path may exist.
        return false;
      }
    };
    return (
      [folder, meta, inbox, outbox].some(isMissing) ||
      metaAt(meta) === 'damaged'
    );
  }

  /** Sets the error message of `get` for a worker whose record is gone. */
  noteLost(agentId: string, message: string): void {
    this.#lost.set(agentId, message);
  }

  /** Changes when a folder of a worker is added or removed. */
  viewStamp(): string {
    const folders = [this.#paths.shared.agents, workersIn(this.#paths)];
    return folders.map(stampOf).join();
  }

  folderOf(agentId: string): WorkerFolder {
    return new WorkerFolder(this.#paths, agentId);
  }

  /**
   * Stores a new worker. Its meta is written last, which makes it visible.
   * @param prepare writes the files that must exist before the meta
   * @throws HostError `storage_full`, `storage_unwritable`
   */
  create(
    meta: WorkerMeta,
    request: WorkerRequest,
    prepare: (folder: WorkerFolder) => void
  ): Worker {
    const folder = this.folderOf(meta.agent_id);
    try {
      ensureDirectory(folder.private);
      writeNew(folder.request, JSON.stringify(request), true);
      writeNew(folder.inbox, '');
      writeNew(folder.outbox, '');
      prepare(folder);
      this.setMeta(meta);
      restoreView(folder);
    } catch (error) {
      this.discard(meta.agent_id);
      throw storageError(error, folder.public);
    }
    return this.get(meta.agent_id);
  }

  /** Removes a worker that was never started. */
  discard(agentId: string): void {
    const folder = this.folderOf(agentId);
    this.#logs.get(agentId)?.close();
    this.#logs.delete(agentId);
    // The meta first, because without it there is no worker.
    remove(folder.meta);
    for (const path of [folder.public, folder.private])
      rmSync(path, { recursive: true, force: true });
  }

  setMeta(meta: WorkerMeta): void {
    const folder = this.folderOf(meta.agent_id);
    replaceFile(folder.meta, `${JSON.stringify(meta, null, 2)}\n`, true);
    copyMeta(folder);
  }

  /**
   * Runs `work` under the lock of all workers of the workspace.
   * @throws HostError `state_locked`, `storage_full`, `storage_unwritable`,
   *   and the errors of `work`
   */
  withLock<Result>(work: () => Result): Promise<Result> {
    return new Promise((resolve, reject) => {
      const failed = (error: unknown) =>
        reject(storageError(error, this.#paths.record));
      const one = () => {
        try {
          resolve(work());
        } catch (error) {
          failed(error);
        }
      };
      this.#works.add(one).catch(failed);
    });
  }

  /** Undefined without a readable request, as for a worker that is over. */
  termsOf(agentId: string): Terms | undefined {
    const known = this.#terms.get(agentId);
    if (known) return known;
    try {
      const { terms } = this.requestOf(agentId);
      this.#terms.set(agentId, terms);
      return terms;
    } catch {
      return undefined;
    }
  }

  /**
   * Whether the worker was created on this machine, as far as can be known. A
   * project could contain a record, so that troupe starts its program. But a
   * checkout with the usual umask cannot make the request private to its owner,
   * and our own request names a process of this machine as maker.
   */
  isOurs(agentId: string): boolean {
    const maker = this.termsOf(agentId)?.maker;
    const { request } = this.folderOf(agentId);
    const file = lstatSync(request, { throwIfNoEntry: false });
    if (!file?.isFile() || maker === undefined) return false;
    const isOpen = process.platform !== 'win32' && (file.mode & 0o077) !== 0;
    return !isOpen && this.#processes.liveness(maker) !== 'unknown';
  }

  /** @throws Error when the request was removed or damaged */
  requestOf(agentId: string): WorkerRequest {
    const { request } = this.folderOf(agentId);
    return requestSchema().parse(JSON.parse(readIfExists(request) ?? 'null'));
  }

  /** The broadcast of a run, which may not exist yet. */
  broadcastOf(runId: string): Broadcast {
    const known =
      this.#broadcasts.get(runId) ??
      new Broadcast(broadcastPaths(this.#paths, runId), this.#processes);
    this.#broadcasts.set(runId, known);
    return known;
  }

  /** Undefined if no worker was created in that run. */
  findBroadcast(runId: string): Broadcast | undefined {
    if (!isAgentId(runId)) return undefined;
    // The first worker of a run exists before the broadcast has a line.
    const isKnown =
      existsSync(broadcastPaths(this.#paths, runId).log) ||
      this.all().some(({ meta }) => meta.run_id === runId);
    return isKnown ? this.broadcastOf(runId) : undefined;
  }

  newRunId(): string {
    return randomBytes(4).toString('hex');
  }

  /** Removes this process's identity files for the locks. */
  close(): void {
    this.#lock.close();
    for (const log of this.#logs.values()) log.close();
    for (const broadcast of this.#broadcasts.values()) broadcast.close();
  }
}

function stampOf(path: string): string {
  const there = statSync(path, { throwIfNoEntry: false, bigint: true });
  return there ? `${there.ino} ${there.mtimeNs}` : '';
}

function hasLogs({ inbox, outbox }: WorkerFolder): boolean {
  return existsSync(inbox) && existsSync(outbox);
}

/** Undefined if the file is missing, unreadable or of a newer version. */
function metaAt(path: string): WorkerMeta | 'damaged' | undefined {
  let text: string | undefined;
  try {
    text = readIfExists(path);
  } catch {
    return undefined;
  }
  if (text === undefined) return undefined;
  try {
    const value: unknown = JSON.parse(text);
    const { v }: { v?: unknown } = { ...Object(value) };
    const isNewer = typeof v === 'number' && v > 1;
    return parseMeta(value) ?? (isNewer ? undefined : 'damaged');
  } catch {
    return 'damaged';
  }
}
