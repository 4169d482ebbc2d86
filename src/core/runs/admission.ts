import { setTimeout as pause } from 'node:timers/promises';
import { HostError } from '../errors.ts';
import { checkDisk } from './disk-limit.ts';
import type { Origin } from './origin.ts';
import type { OwnPlaces } from './own-places.ts';
import type { RunRecord } from './run.ts';
import type { RunStore } from './run-store.ts';
import type { SpawnTimes } from './spawn-times.ts';

export interface AdmissionDependencies {
  origin: Origin;
  maxDepth: number;
  /** Of all agents' folders together; 0 for no limit. */
  diskLimitMegabytes: number;
  store: RunStore;
  times: SpawnTimes;
  places: Pick<OwnPlaces, 'takeNow' | 'areFree' | 'giveBack'>;
}

/** Of those that announce themselves at the same moment, one has to go on. */
const tries = 4;
const pauseMs = 15;

/** The limits that a spawn has to pass before anything is started. */
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
        `This agent was itself spawned ${depth} deep; the limit is ${maxDepth}.`,
        'Do the work here, or raise maxDepth in the configuration.'
      );
    throw new HostError(
      'depth_limit',
      `This server was started in what an agent has left behind, ${depth} deep; the limit is ${maxDepth}.`,
      'The user can start the client in a terminal that no agent has opened (TROUPE_DEPTH is not set there), or raise maxDepth in the configuration.'
    );
  }

  /** @throws HostError `disk_limit` */
  checkDisk(): void {
    const { diskLimitMegabytes, store } = this.#with;
    checkDisk(diskLimitMegabytes, store);
  }

  /** @throws HostError `spawn_rate` when so many are too many by now */
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

  /** So many have passed. */
  count(count = 1): void {
    const { times, origin } = this.#with;
    times.note(count, origin.isAgents());
  }

  /** Whether what is spawned here may not wait for a place. */
  isAgents({ kind }: Pick<RunRecord, 'kind'>): boolean {
    // Those of an API start nobody, so that they always end.
    return kind === 'cli' && this.#with.origin.isAgents();
  }

  /**
   * Whether programs of these engines could all begin now, asked by an agent.
   * @throws HostError `at_capacity`
   */
  async checkRoom(engines: string[]): Promise<void> {
    const { origin, places } = this.#with;
    if (engines.length === 0 || !origin.isAgents()) return;
    for (let attempt = 1; !places.areFree(engines); attempt += 1) {
      if (attempt === tries) throw atCapacity(engines.length);
      await aMoment();
    }
  }

  /**
   * Takes a place at once for an agent's agent: it would wait behind those
   * that wait for it.
   * @throws HostError `at_capacity` when there is none; then it has none
   */
  async seat(record: RunRecord): Promise<void> {
    const { places } = this.#with;
    for (let attempt = 1; ; attempt += 1) {
      const place = places.takeNow(record);
      if (place === 'taken') return;
      if (!place.endsWith('contended') || attempt === tries)
        throw atCapacity(1);
      await aMoment();
    }
  }

  /** Of a run that was never answered. */
  unseat(record: RunRecord): void {
    this.#with.places.giveBack(record);
  }
}

/** Others may take back what they have announced. */
function aMoment(): Promise<void> {
  return pause(pauseMs * (0.5 + Math.random()));
}

function atCapacity(count: number): HostError {
  const [what, whom] =
    count === 1
      ? ['place is free for it', 'it']
      : [`${count} places are free`, 'them'];
  return new HostError(
    'at_capacity',
    `Nothing was started: no ${what} now, and what an agent starts does not wait behind agents at work, of which it is one.`,
    `Do the work here, or call again when agents have ended (list shows them); the user can raise maxConcurrent, or that of the engine, to make room for ${whom}.`
  );
}
