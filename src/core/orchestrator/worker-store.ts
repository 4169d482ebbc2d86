import { randomBytes } from 'node:crypto';
import { existsSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { errnoOf, HostError, storageError } from '../errors.ts';
import { lazily } from '../lazily.ts';
import {
  readIfThere,
  remove,
  replaceFile,
  writeNew
} from '../state/atomic-file.ts';
import {
  ensureDirectory,
  isLink,
  isRealDirectory
} from '../state/directories.ts';
import { FileLock, type Witnesses } from '../state/file-lock.ts';
import { LockQueue } from '../state/lock-queue.ts';
import { Broadcast } from './broadcast.ts';
import { wasMadeHere } from './made-here.ts';
import {
  parseMeta,
  type Terms,
  termsSchema,
  type WorkerMeta
} from './records.ts';
import {
  broadcastPath,
  WorkerFolder,
  type WorkerPlaces,
  workersIn
} from './worker-folder.ts';
import { WorkerLog } from './worker-log.ts';

const requestSchema = lazily(() =>
  z.object({
    /** The brief in full. */
    role: z.string(),
    env: z.record(z.string(), z.string()),
    /** How deep it is, whoever starts it again; those of old were asked by people. */
    depth: z.number().default(1),
    terms: termsSchema()
  })
);

/** What starts a worker again, beside its meta. May hold secrets. */
export type WorkerRequest = z.output<ReturnType<typeof requestSchema>>;

export interface Worker {
  meta: WorkerMeta;
  folder: WorkerFolder;
  log: WorkerLog;
}

/** The workers of a workspace, on disk. */
export class WorkerStore {
  readonly #places: WorkerPlaces;
  readonly #witnesses: Witnesses;
  readonly #lock: FileLock;
  readonly #works: LockQueue<() => void>;
  readonly #logs = new Map<string, WorkerLog>();
  readonly #terms = new Map<string, Terms>();
  readonly #broadcasts = new Map<string, Broadcast>();

  constructor(places: WorkerPlaces, witnesses: Witnesses) {
    this.#places = places;
    this.#witnesses = witnesses;
    const directory = workersIn(places);
    const lock = join(directory, 'lock');
    this.#lock = new FileLock(lock, `${lock}.servers`, witnesses);
    this.#works = new LockQueue(
      this.#lock,
      () => ensureDirectory(directory),
      (works) => {
        for (const work of works) work();
      }
    );
  }

  /** All there ever were, oldest first. */
  all(): Worker[] {
    return this.ids()
      .flatMap((id) => this.find(id) ?? [])
      .sort((a, b) => (a.meta.created_at < b.meta.created_at ? -1 : 1));
  }

  ids(): string[] {
    try {
      const names = readdirSync(workersIn(this.#places));
      return names.filter((name) => /^[0-9a-f]{8}$/.test(name));
    } catch (error) {
      if (errnoOf(error) === 'ENOENT') return [];
      throw error;
    }
  }

  find(agentId: string): Worker | undefined {
    if (!/^[0-9a-f]{8}$/.test(agentId)) return undefined;
    const folder = this.folderOf(agentId);
    // A link is not a worker of ours, nor is one that the record does not have.
    if (isLink(folder.public) || !isRealDirectory(folder.private))
      return undefined;
    const meta = metaIn(folder);
    if (!meta) {
      this.#logs.delete(agentId);
      return undefined;
    }
    const log =
      this.#logs.get(agentId) ?? new WorkerLog(folder, this.#witnesses);
    this.#logs.set(agentId, log);
    return { meta, folder, log };
  }

  /** @throws HostError `unknown_agent` */
  get(agentId: string): Worker {
    const worker = this.find(agentId);
    if (worker) return worker;
    throw new HostError(
      'unknown_agent',
      `There is no worker "${agentId.slice(0, 60)}" in this workspace.`,
      'agent_list shows which there are; agents of spawn tools are no workers.'
    );
  }

  folderOf(agentId: string): WorkerFolder {
    return new WorkerFolder(this.#places, agentId);
  }

  /**
   * Puts a new worker on disk. Its meta comes last: it is there, or not.
   * @param prepare what else must be there before anybody sees it
   * @throws HostError `storage_full`, `storage_unwritable`
   */
  create(
    meta: WorkerMeta,
    request: WorkerRequest,
    prepare: (folder: WorkerFolder) => void
  ): Worker {
    const folder = this.folderOf(meta.agent_id);
    try {
      for (const path of [folder.private, folder.public, folder.artifacts])
        ensureDirectory(path);
      writeNew(folder.request, JSON.stringify(request), true);
      writeNew(folder.inbox, '');
      writeNew(folder.outbox, '');
      prepare(folder);
      this.setMeta(meta);
    } catch (error) {
      this.discard(meta.agent_id);
      throw storageError(error, folder.public);
    }
    return this.get(meta.agent_id);
  }

  /** Takes a worker away that was never started. */
  discard(agentId: string): void {
    const folder = this.folderOf(agentId);
    this.#logs.get(agentId)?.close();
    this.#logs.delete(agentId);
    // Its meta first: without it there is no worker.
    remove(folder.meta);
    for (const path of [folder.public, folder.private])
      rmSync(path, { recursive: true, force: true });
  }

  setMeta(meta: WorkerMeta): void {
    const { meta: path } = this.folderOf(meta.agent_id);
    replaceFile(path, `${JSON.stringify(meta, null, 2)}\n`, true);
  }

  /**
   * Does something that no other process of the workspace does meanwhile.
   * @throws HostError `state_locked`, `storage_full`, `storage_unwritable`,
   *   and what `work` throws
   */
  alone<Result>(work: () => Result): Promise<Result> {
    return new Promise((resolve, reject) => {
      const failed = (error: unknown) =>
        reject(storageError(error, this.#places.record));
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

  /** Undefined for one that is over. */
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

  /** Whether we can vouch for what starts it again. */
  isOurs(agentId: string): boolean {
    const maker = this.termsOf(agentId)?.maker;
    return wasMadeHere(this.folderOf(agentId), maker, this.#witnesses);
  }

  /** @throws Error when it cannot be read any more */
  requestOf(agentId: string): WorkerRequest {
    const { request } = this.folderOf(agentId);
    return requestSchema().parse(JSON.parse(readIfThere(request) ?? 'null'));
  }

  /** What all workers of a run have come to. */
  broadcastOf(runId: string): Broadcast {
    const known =
      this.#broadcasts.get(runId) ??
      new Broadcast(
        broadcastPath(this.#places, runId),
        join(workersIn(this.#places), `run-${runId}`),
        this.#witnesses
      );
    this.#broadcasts.set(runId, known);
    return known;
  }

  /** Undefined when no worker was ever made in that run. */
  findBroadcast(runId: string): Broadcast | undefined {
    if (!/^[0-9a-f]{8}$/.test(runId)) return undefined;
    // The first worker of a run is there before its first line.
    const isKnown =
      existsSync(broadcastPath(this.#places, runId)) ||
      this.all().some(({ meta }) => meta.run_id === runId);
    return isKnown ? this.broadcastOf(runId) : undefined;
  }

  newRunId(): string {
    return randomBytes(4).toString('hex');
  }

  /** Takes away what says that this process is there. */
  close(): void {
    this.#lock.close();
    for (const log of this.#logs.values()) log.close();
    for (const broadcast of this.#broadcasts.values()) broadcast.close();
  }
}

function metaIn({ meta }: WorkerFolder): WorkerMeta | undefined {
  try {
    return parseMeta(JSON.parse(readIfThere(meta) ?? 'null'));
  } catch {
    return undefined;
  }
}
