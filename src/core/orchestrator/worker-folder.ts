import { join } from 'node:path';
import type { Paths } from '../paths/paths.ts';

/** Where workers are kept: files for readers in the workspace, the rest not. */
export type WorkerPlaces = Pick<Paths, 'record'> & {
  shared: Pick<Paths['shared'], 'agents' | 'run'>;
};

/**
 * Where a worker's files lie. What people and programs read is in `public`,
 * what only troupe needs in `private`.
 */
export class WorkerFolder {
  readonly agentId: string;
  /** `.agents/agents/<id>`: meta.json, inbox, outbox, artifacts. */
  readonly public: string;
  /** `workers/<id>` in the record: the lock, the request, one folder for each start. */
  readonly private: string;

  constructor(places: WorkerPlaces, agentId: string) {
    this.agentId = agentId;
    this.public = join(places.shared.agents, agentId);
    this.private = join(workersIn(places), agentId);
  }

  get meta(): string {
    return join(this.public, 'meta.json');
  }

  get inbox(): string {
    return join(this.public, 'inbox.jsonl');
  }

  get outbox(): string {
    return join(this.public, 'outbox.jsonl');
  }

  get artifacts(): string {
    return join(this.public, 'artifacts');
  }

  /** All that starts it again, secrets included. */
  get request(): string {
    return join(this.private, 'request.json');
  }

  get lock(): string {
    return join(this.private, 'lock');
  }

  /** How the logs stood when they were read last, so that reading is short. */
  get state(): string {
    return join(this.private, 'state.json');
  }

  /** Changes with every sign of life. */
  get seen(): string {
    return join(this.private, 'seen');
  }

  /** Who serves it now, a file each. */
  get servers(): string {
    return join(this.private, 'servers');
  }

  /** The supervisor's folder of its first, second, … program. */
  start(generation: number): string {
    return join(this.private, `start-${generation}`);
  }

  paths() {
    const { meta, inbox, outbox, artifacts } = this;
    return { directory: this.public, meta, inbox, outbox, artifacts };
  }
}

/** Of every run of workers, what all are told. */
export function broadcastPath({ shared }: WorkerPlaces, runId: string): string {
  return join(shared.run, runId, 'broadcast.jsonl');
}

/** The private halves of all workers, a folder each. */
export function workersIn({ record }: Pick<WorkerPlaces, 'record'>): string {
  return join(record, 'workers');
}
