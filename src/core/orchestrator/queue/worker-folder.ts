import { existsSync } from 'node:fs';
import { basename, join } from 'node:path';
import type { Paths } from '../../paths/paths.ts';
import { ensureDirectory, namesIn } from '../../state/files/directories.ts';
import {
  copyWhole,
  isCopied,
  updateCopy
} from '../../state/files/file-copy.ts';

/** The paths of all workers: the record, with copies in the workspace. */
export type WorkerPaths = Pick<Paths, 'record'> & {
  shared: Pick<Paths['shared'], 'agents' | 'run'>;
};

/**
 * The paths of a worker's files. The record has all of them; the files that
 * people and programs read are copied to the workspace and may be deleted
 * there.
 */
export class WorkerFolder {
  readonly agentId: string;
  /**
   * `workers/<id>` in the record: meta.json, inbox, outbox, the lock, and one
   * folder for each program.
   */
  readonly private: string;
  /** `.agents/agents/<id>`: artifacts; copies of meta.json, inbox, outbox. */
  readonly public: string;

  constructor(paths: WorkerPaths, agentId: string) {
    this.agentId = agentId;
    this.public = join(paths.shared.agents, agentId);
    this.private = join(workersIn(paths), agentId);
  }

  get meta(): string {
    return join(this.private, 'meta.json');
  }

  get inbox(): string {
    return join(this.private, 'inbox.jsonl');
  }

  get outbox(): string {
    return join(this.private, 'outbox.jsonl');
  }

  /** Payloads that are too long for a line; they are copied to `artifacts`. */
  get payloads(): string {
    return join(this.private, 'artifacts');
  }

  /** The worker's own files, and copies of payloads. */
  get artifacts(): string {
    return join(this.public, 'artifacts');
  }

  /** The data for a restart, with secrets; removed when the worker is over. */
  get request(): string {
    return join(this.private, 'request.json');
  }

  get lock(): string {
    return join(this.private, 'lock');
  }

  /** A snapshot of both logs, which shortens the next first read. */
  get state(): string {
    return join(this.private, 'state.json');
  }

  /** Its modification time is the worker's last sign of life. */
  get seen(): string {
    return join(this.private, 'seen');
  }

  /** One file for each process that serves the worker. */
  get servers(): string {
    return join(this.private, 'servers');
  }

  /** The supervisor's folder of the worker's first, second, … program. */
  start(generation: number): string {
    return join(this.private, `start-${generation}`);
  }

  /** The paths in the workspace. */
  paths() {
    return {
      directory: this.public,
      meta: join(this.public, 'meta.json'),
      inbox: join(this.public, 'inbox.jsonl'),
      outbox: join(this.public, 'outbox.jsonl'),
      artifacts: this.artifacts
    };
  }
}

/** The paths of one run's broadcast. */
export interface BroadcastPaths {
  log: string;
  /** Its copy in the workspace. */
  copy: string;
  /** The folder of the log, its lock and torn lines. */
  locks: string;
}

export function broadcastPaths(
  paths: WorkerPaths,
  runId: string
): BroadcastPaths {
  const locks = join(workersIn(paths), `run-${runId}`);
  return {
    log: join(locks, 'broadcast.jsonl'),
    copy: join(paths.shared.run, runId, 'broadcast.jsonl'),
    locks
  };
}

/** The private folders of all workers. */
export function workersIn({ record }: Pick<WorkerPaths, 'record'>): string {
  return join(record, 'workers');
}

const logs = ['inbox', 'outbox'] as const;

/** Whether the workspace has every copy, and each is up to date. */
export function isViewComplete(folder: WorkerFolder): boolean {
  const copies = folder.paths();
  return (
    existsSync(copies.artifacts) &&
    [...logs, 'meta' as const].every((name) =>
      isCopied(folder[name], copies[name])
    )
  );
}

/**
 * Brings the copies in the workspace up to date. The caller holds the
 * worker's lock, unless no other process knows of the worker yet.
 * @throws HostError `state_unsafe` for a link; the system's error
 */
export function restoreView(folder: WorkerFolder): void {
  const copies = folder.paths();
  ensureDirectory(folder.public);
  if (!existsSync(copies.artifacts)) {
    ensureDirectory(copies.artifacts);
    for (const name of namesIn(folder.payloads)) copyPayload(folder, name);
  }
  for (const name of logs) updateCopy(folder[name], copies[name]);
  if (!isCopied(folder.meta, copies.meta)) copyWhole(folder.meta, copies.meta);
}

/** Copies meta.json, even if its length is unchanged. Never throws. */
export function copyMeta(folder: WorkerFolder): void {
  try {
    ensureDirectory(folder.public);
    copyWhole(folder.meta, folder.paths().meta);
  } catch {
    // The copy may be outdated; the record is complete.
  }
}

/**
 * The path of a payload in the workspace; a missing copy is restored.
 * @param file its path below the worker's folder
 * @throws HostError `state_unsafe` for a link; the system's error
 */
export function payloadAt(folder: WorkerFolder, file: string): string {
  const path = join(folder.public, file);
  if (!existsSync(path)) copyPayload(folder, basename(file));
  return path;
}

/** @throws as `payloadAt` */
export function copyPayload(folder: WorkerFolder, name: string): void {
  ensureDirectory(folder.public);
  ensureDirectory(folder.artifacts);
  copyWhole(join(folder.payloads, name), join(folder.artifacts, name));
}
