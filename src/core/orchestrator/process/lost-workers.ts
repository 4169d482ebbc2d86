import { sep } from 'node:path';
import { messageOf } from '../../errors.ts';
import type { Processes } from '../../runs/ports.ts';
import { claimOf } from '../../runs/run-files.ts';
import { namesIn } from '../../state/files/directories.ts';
import type { LivenessCheck } from '../../state/locks/file-lock.ts';
import { Ages } from '../../timing.ts';
import type { WorkerMeta } from '../queue/records.ts';
import type { TaskQueue } from '../queue/task-queue.ts';
import type { WorkerFolder } from '../queue/worker-folder.ts';
import type { Worker, WorkerStore } from '../queue/worker-store.ts';
import type { ProcessParts, WorkerProcess } from './worker-process.ts';

/** A worker as this process saw it last. */
interface Seen {
  meta: WorkerMeta;
  generation: number;
  queue: TaskQueue;
}

/** A record that is moved away and back is missing for less than this. */
const missingMs = 1000;

/**
 * Ends the programs of workers whose record was removed or damaged: no list
 * shows these workers, and no tool reaches them. They are found by the rest of
 * the record, and by the state that this process read last.
 */
export class LostWorkers {
  readonly #with: ProcessParts;
  readonly #program: WorkerProcess;
  readonly #ages = new Ages();
  readonly #seen = new Map<string, Seen>();
  readonly #ending = new Map<string, Promise<void>>();
  /** Workers whose processes survived SIGKILL. */
  readonly #stuck = new Set<string>();

  constructor(parts: ProcessParts, program: WorkerProcess) {
    this.#with = parts;
    this.#program = program;
  }

  /** Remembers how to end a worker whose program has begun. */
  note(worker: Worker): void {
    const { meta, log } = worker;
    const queue = log.read();
    const { generation } = queue.state;
    const { agent_id: id } = meta;
    this.#ages.of(id, 'there');
    const known = this.#seen.get(id);
    const isKnown = known?.generation === generation;
    // A lower number means that the files are being removed.
    if (known && queue.state.eventSeq < known.queue.state.eventSeq) return;
    if (queue.isOver) this.#seen.delete(id);
    else if (isKnown || this.#program.supervisorOf(worker, generation))
      this.#seen.set(id, { meta, generation, queue });
  }

  /**
   * Ends the workers whose record has been missing for a second.
   * @param over ids of workers that are over, which are not looked for
   */
  async reconcile(over: ReadonlySet<string>): Promise<void> {
    const { store } = this.#with;
    const open = store.ids().filter((id) => !over.has(id));
    const ids = new Set([...open, ...this.#seen.keys()]);
    const lost = [...ids].filter(
      (id) => store.isGone(id) && this.#ages.of(id, 'gone') > missingMs
    );
    await Promise.all(lost.map((id) => this.end(id)));
  }

  /** Ends a worker if its record is gone; never throws. */
  end(agentId: string): Promise<void> {
    const { store, onProblem } = this.#with;
    const known = this.#ending.get(agentId);
    if (known || !store.isGone(agentId)) return known ?? Promise.resolve();
    const ending = this.#end(agentId)
      .catch((problem: unknown) =>
        onProblem(
          `Worker ${agentId}, whose record is gone, cannot be ended: ${messageOf(problem)}`
        )
      )
      .finally(() => this.#ending.delete(agentId));
    this.#ending.set(agentId, ending);
    return ending;
  }

  async #end(agentId: string): Promise<void> {
    const { store, processes, onProblem } = this.#with;
    const seen = this.#seen.get(agentId);
    const folder = store.folderOf(agentId);
    const living = livingPrograms(folder, processes);
    if (!seen && living.length === 0) return;
    const generations = new Set([
      ...living,
      ...(seen ? [seen.generation] : [])
    ]);
    const reports = await Promise.all(
      [...generations].map((generation) =>
        this.#program.terminate({ folder }, generation)
      )
    );
    const survivors = reports.flatMap((report) => report.survivors);
    if (survivors.length > 0) return this.#reportStuck(agentId, survivors);
    if (!seen || seen.meta.pane)
      await this.#program.closePanesOf(agentId, seen?.meta.pane?.socket);
    this.#seen.delete(agentId);
    const name = seen ? ` "${seen.meta.name}"` : '';
    const tasks = seen?.queue.tasks.map(({ id }) => id) ?? [];
    const rest =
      tasks.length === 0
        ? ''
        : ` Tasks that have no end: ${tasks.slice(0, 20).join(', ')}${tasks.length > 20 ? `, and ${tasks.length - 20} more` : ''}.`;
    const message = `${lossOf(agentId, name)}, so its program was ended.${rest}`;
    store.noteLost(agentId, message);
    onProblem(message);
  }

  /** Reports it once for each worker; every reconcile tries again. */
  #reportStuck(agentId: string, survivors: number[]): void {
    if (this.#stuck.has(agentId)) return;
    this.#stuck.add(agentId);
    const message = `${lossOf(agentId)}, and its program cannot be ended: processes ${survivors.join(', ')} survive SIGKILL.`;
    this.#with.store.noteLost(agentId, message);
    this.#with.onProblem(message);
  }
}

/** Longer than `missingMs`, so that a master acts first if there is one. */
const ownMissingMs = 5000;

/**
 * Runs in a worker's own server: restores the worker's files in the workspace,
 * and ends its program once the record is gone.
 */
export class OwnProgram {
  readonly #ages = new Ages();
  readonly #with: OwnProgramParts;

  constructor(parts: OwnProgramParts) {
    this.#with = parts;
  }

  async look(): Promise<void> {
    const { store, agentId } = this.#with;
    const isGone = store.isGone(agentId);
    const sinceMs = this.#ages.of(agentId, String(isGone));
    if (!isGone) await store.find(agentId)?.log.restore();
    else if (sinceMs > ownMissingMs) await this.#end();
  }

  /** Ends the program that this process descends from, and its descendants. */
  async #end(): Promise<void> {
    const { store, agentId, onProblem } = this.#with;
    const processes = this.#with.processes();
    const own = `${store.folderOf(agentId).private}${sep}`;
    const [above] = processes
      .ancestors()
      .flatMap(({ marks }) => marks.directory ?? [])
      .filter((directory) => directory.startsWith(own));
    if (above === undefined) return;
    onProblem(`${lossOf(agentId)}, so its program is ended.`);
    const { place } = processes.self;
    await processes.stop({ directory: above, place, withNested: true });
  }
}

interface OwnProgramParts {
  store: WorkerStore;
  agentId: string;
  processes: () => Processes;
  onProblem: (problem: unknown) => void;
}

/** The generations of a worker's living programs, even without its record. */
export function livingPrograms(
  folder: WorkerFolder,
  processes: LivenessCheck
): number[] {
  const { place } = processes.self;
  return namesIn(folder.private).flatMap((name) => {
    const [, digits] = /^start-(\d+)$/.exec(name) ?? [];
    if (digits === undefined) return [];
    const generation = Number(digits);
    const supervisor = claimOf(folder.start(generation), place)?.supervisor;
    const isAlive = supervisor && processes.liveness(supervisor) !== 'dead';
    return isAlive ? [generation] : [];
  });
}

function lossOf(agentId: string, name = ''): string {
  return `The record of worker ${agentId}${name} was removed or damaged`;
}
