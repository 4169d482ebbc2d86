import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { HostError } from '../../errors.ts';
import { sizeOf } from '../../state/files/text-file.ts';
import type { RunRecord } from '../run.ts';
import type { RunStore } from '../run-store.ts';
import type { CallerContext } from './caller-context.ts';
import type { OwnSlots } from './slots.ts';
import type { SpawnTimes } from './spawn-times.ts';

interface AdmissionDependencies {
  origin: CallerContext;
  maxDepth: number;
  /** Limit for the folders of all agents together; 0 for none. */
  diskLimitMegabytes: number;
  store: RunStore;
  times: SpawnTimes;
  slots: OwnSlots;
}

/** When servers collide, one of them gets a slot within this many attempts. */
const attempts = 4;
const pauseMs = 15;

const megabyte = 1024 * 1024;

/** Checks the limits that every spawn has to pass. */
export class Admission {
  readonly #with: AdmissionDependencies;

  constructor(dependencies: AdmissionDependencies) {
    this.#with = dependencies;
  }

  /** @throws HostError `depth_limit` */
  checkDepth(): void {
    const { origin, maxDepth } = this.#with;
    const { depth } = origin;
    if (depth < maxDepth) return;
    if (origin.isAgents())
      throw new HostError(
        'depth_limit',
        `This agent was itself spawned at depth ${depth}; the limit is ${maxDepth}.`,
        'Do the work here, or raise maxDepth in the configuration.'
      );
    throw new HostError(
      'depth_limit',
      `This server was started by what an agent left running, at depth ${depth}; the limit is ${maxDepth}.`,
      'The user can start the client in a terminal that no agent has opened (TROUPE_DEPTH is not set there), or raise maxDepth in the configuration.'
    );
  }

  /** @throws HostError `disk_limit` */
  checkDisk(): void {
    checkDisk(this.#with.diskLimitMegabytes, this.#with.store);
  }

  /** @throws HostError `spawn_rate` when `count` more are too many now */
  checkRate(count = 1): void {
    const { times, origin } = this.#with;
    const byAgents = origin.isAgents();
    const delayMs = times.delayFor(count, byAgents);
    if (delayMs === 0) return;
    const most = times.limitFor(byAgents);
    const who = byAgents ? 'by agents ' : '';
    const seconds = Math.ceil(delayMs / 1000);
    throw new HostError(
      'spawn_rate',
      `Nothing was started: no more than ${most} agents are started ${who}in this workspace within a minute.`,
      Number.isFinite(delayMs)
        ? `Call again in ${seconds} s, and start fewer at once; the user can raise maxSpawnsPerMinute in the configuration.`
        : `Start fewer at once, ${most} at most; the user can raise maxSpawnsPerMinute in the configuration.`
    );
  }

  /** Counts agents that have passed the limits. */
  count(count = 1): void {
    const { times, origin } = this.#with;
    times.note(count, origin.isAgents());
  }

  /** Whether a run must get a slot at once, because an agent spawns it. */
  isAgents({ kind }: Pick<RunRecord, 'kind'>): boolean {
    // API agents cannot spawn, so they always end and may be queued.
    return kind === 'cli' && this.#with.origin.isAgents();
  }

  /**
   * Checks that an agent's spawns of these engines could all start now.
   * @throws HostError `at_capacity`
   */
  async checkRoom(engines: string[]): Promise<void> {
    const { origin, slots } = this.#with;
    if (engines.length === 0 || !origin.isAgents()) return;
    for (let attempt = 1; !slots.areFree(engines); attempt += 1) {
      if (attempt === attempts) throw atCapacity(engines.length);
      await randomPause();
    }
  }

  /**
   * Takes a slot for an agent that another agent spawns. Such an agent is never
   * queued, because it could wait behind agents that wait for it.
   * @throws HostError `at_capacity` when no slot is free
   */
  async acquireSlot(record: RunRecord): Promise<void> {
    const { slots } = this.#with;
    for (let attempt = 1; ; attempt += 1) {
      const result = slots.takeNow(record);
      if (result === 'taken') return;
      if (!result.endsWith('contended') || attempt === attempts)
        throw atCapacity(1);
      await randomPause();
    }
  }

  /** Releases the slot of a run whose spawn was never answered. */
  releaseSlot(record: RunRecord): void {
    this.#with.slots.withdraw(record);
  }
}

/**
 * Refuses spawns while the folders of all agents exceed the limit.
 * @param megabytes 0 for no limit
 * @throws HostError `disk_limit`
 */
export function checkDisk(megabytes: number, store: RunStore): void {
  if (megabytes === 0) return;
  const limit = megabytes * megabyte;
  const openBytes = bytesOfOpenRuns(store);
  if (store.sizes.total() + openBytes <= limit) return;
  const bytes = store.sizes.recount() + openBytes;
  if (bytes <= limit) return;
  throw new HostError(
    'disk_limit',
    `The folders of agents hold ${Math.ceil(bytes / megabyte)} MB; diskLimitMegabytes is ${megabytes}.`,
    'The user can remove what was read with "troupe clean" (it shows what there is), or raise diskLimitMegabytes. Nothing was started; running agents continue.'
  );
}

/** Bytes of the input and output of agents without a recorded end. */
function bytesOfOpenRuns(store: RunStore): number {
  return store
    .markedIds()
    .flatMap((id) =>
      ['prompt.txt', 'stdin', 'stdout', 'stderr'].map((name) =>
        sizeOf(join(store.directoryOf(id), name))
      )
    )
    .reduce((sum, bytes) => sum + bytes, 0);
}

/** Waits a random time, so that servers do not collide again. */
function randomPause(): Promise<void> {
  return pause(pauseMs * (0.5 + Math.random()));
}

function atCapacity(count: number): HostError {
  const [what, whom] =
    count === 1
      ? ['slot is free for it', 'it']
      : [`${count} slots are free`, 'them'];
  return new HostError(
    'at_capacity',
    `Nothing was started: no ${what} now, and an agent's own agents are not queued behind running agents, as it is one of them.`,
    `Do the work here, or call again when agents have ended; the user can raise maxConcurrent, or that of the engine, to make room for ${whom}.`
  );
}
