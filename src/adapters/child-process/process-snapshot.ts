import {
  setTimeout as delay,
  setImmediate as nextTurn
} from 'node:timers/promises';
import {
  type ProcessEntry,
  processEnvironments,
  processTable
} from './process-table.ts';

/** Set in every agent's environment; children inherit it. */
const marker = 'TROUPE_AGENT_DIR=';

/** Who was there at one moment. */
export class ProcessSnapshot {
  /** Without those that are dead and not reaped yet. */
  readonly entries: ProcessEntry[];
  readonly #markers = new Map<number, string | undefined>();

  /** @throws when nothing can be said about any process */
  constructor() {
    this.entries = processTable().filter((entry) => !entry.zombie);
  }

  /** The folders of the agents that these processes were started by. */
  markersOf(pids: number[]): Map<number, string> {
    const unread = pids.filter((pid) => !this.#markers.has(pid));
    if (unread.length > 0) {
      const environments = processEnvironments(unread);
      for (const pid of unread)
        this.#markers.set(pid, markerIn(environments.get(pid)));
    }
    const markers = new Map<number, string>();
    for (const pid of pids) {
      const directory = this.#markers.get(pid);
      if (directory !== undefined) markers.set(pid, directory);
    }
    return markers;
  }
}

/** Of a series of looks, each is followed by a rest so many times as long. */
const restFactor = 3;

let coming: Promise<ProcessSnapshot> | undefined;
let restsUntil = 0;

/**
 * A look taken after this call. Who asks before it is taken shares it, so
 * that hundreds of agents that end at once do not have all processes looked
 * at for each of them.
 * @throws as `ProcessSnapshot`
 */
export function nextSnapshot(): Promise<ProcessSnapshot> {
  coming ??= takeNext();
  return coming;
}

async function takeNext(): Promise<ProcessSnapshot> {
  const restMs = restsUntil - performance.now();
  await (restMs > 0 ? delay(restMs) : nextTurn());
  coming = undefined;
  const began = performance.now();
  const snapshot = new ProcessSnapshot();
  const ended = performance.now();
  restsUntil = ended + restFactor * (ended - began);
  return snapshot;
}

function markerIn(environment: string | undefined): string | undefined {
  return environment
    ?.split('\0')
    .find((line) => line.startsWith(marker))
    ?.slice(marker.length);
}
