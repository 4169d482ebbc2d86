import type { Access } from '../../../plugin/plugin.ts';
import type { ChangeTracker } from '../../changes/change-tracker.ts';
import { EarliestTimer, Throttle } from '../../timing.ts';
import {
  OwnSlots,
  type OwnSlotsDependencies,
  type SlotResult
} from '../admission/slots.ts';
import { isRefused } from '../damaged-run.ts';
import { notPrepared, type RunRecord, type RunStatus } from '../run.ts';
import { claimOf, requestStop, wasClaimed } from '../run-files.ts';
import { isHeritable, tryNeverStarts } from '../run-state.ts';
import type { RunStore } from '../run-store.ts';
import { withChat } from '../sessions/create-chat.ts';
import type { Waiting } from '../spawn-request.ts';
import { noteReady, whileStarting } from '../start-marks.ts';
import { DiskPause, fullTreesOf } from './disk-pause.ts';
import {
  type LaunchDependencies,
  launchRun,
  notLaunched
} from './launch-run.ts';
import { RunQueue } from './run-queue.ts';
import { takeOver } from './take-over.ts';

const droppedWithUs = { why: 'disconnect' as const };

/** A server that is ending gives its runs this long to get their chat. */
const closingMs = 2500;

/** How long a nested agent waits for a slot once its turn has come. */
const patienceMs = 10_000;

const noSlot = `its turn came, and no slot was free for ${patienceMs / 1000} s: an agent's own agents do not wait for running agents, as it is one of them`;

interface StarterDependencies extends LaunchDependencies, OwnSlotsDependencies {
  store: RunStore;
  changeTracker: ChangeTracker;
  settings: LaunchDependencies['settings'] & { maxAccess: Access };
  onProblem: (problem: unknown) => void;
}

/**
 * Starts queued runs in order, within the limits of running agents per kind and
 * per engine, which apply to all servers of the workspace together.
 */
export class RunStarter {
  readonly #with: StarterDependencies;
  readonly #queue: RunQueue;
  /** Of spawns, which come before the starts of agents. */
  readonly throttle = new Throttle();
  /** The slots of runs that this process started and has not seen end. */
  readonly slots: OwnSlots;
  /** By agent id. Never rejects. */
  readonly #preparing = new Map<string, Promise<void>>();
  /** Ids of the runs that have a slot and are not launched yet. */
  readonly #unlaunched = new Set<string>();
  readonly #retry = new EarliestTimer(() => this.pump());
  #closed = false;
  /** When a server that is ending gives up the chats that it creates. */
  #chatsUntil = Number.POSITIVE_INFINITY;
  readonly #diskPause: DiskPause;
  /** The number of the next run that is added. */
  #next = 0;

  constructor(dependencies: StarterDependencies) {
    this.#with = dependencies;
    this.#queue = new RunQueue(dependencies.store);
    this.slots = new OwnSlots(dependencies);
    this.#diskPause = new DiskPause({
      directory: dependencies.store.root,
      onRoom: () => this.pump(),
      onProblem: dependencies.onProblem
    });
  }

  /** Queues a run and starts it if a slot is free. */
  add(added: Waiting): RunStatus {
    const waiting = { ...added, number: this.#next };
    this.#next += 1;
    const { agent_id: id } = waiting.record;
    // Nothing starts after `close`.
    if (this.#closed) this.slots.withdraw(waiting.record);
    if (this.slots.has(id)) this.#start(waiting);
    else this.#queue.add(waiting);
    this.pump();
    if (this.hasStarted(id)) return 'running';
    const isPrepared = this.slots.has(id) && isHeritable(waiting.record);
    return isPrepared ? 'running' : 'queued';
  }

  /**
   * Queues a run whose server was killed while it prepared it, unless another
   * server has done so.
   */
  takeOver(record: RunRecord): void {
    if (this.#closed) return;
    try {
      const waiting = takeOver(record, this.#with);
      if (waiting) this.add(waiting);
    } catch (problem) {
      // The next look tries again.
      if (!isRefused(problem, this.#with.store.root)) throw problem;
    }
  }

  /** Starts as many queued runs as there are free slots. */
  pump(): void {
    if (this.#closed) return;
    this.#fill('cli');
    this.#fill('api');
    this.#queue.sendHeartbeats();
    // A nested agent that waits for the disk does not wait for a slot.
    if (this.#diskPause.isOn) return;
    for (const { record } of this.#queue.overdue(patienceMs)) {
      this.drop(record.agent_id);
      notLaunched(this.#directoryOf(record), new Error(noSlot), notPrepared);
      this.#over(record)?.catch(this.#with.onProblem);
    }
  }

  #fill(kind: RunRecord['kind']): void {
    /** Engines at their limit: runs of other engines overtake their runs. */
    const fullEngines = new Set<string>();
    while (!this.#closed && !this.#diskPause.isOn) {
      const next = this.#queue.next(kind, fullEngines);
      if (typeof next === 'number') this.#retry.in(next);
      if (!next || typeof next === 'number') return;
      const result = this.#slotFor(next);
      // A random delay keeps two servers from colliding again and again.
      if (result.endsWith('contended')) this.#retry.in(40 + Math.random() * 80);
      if (result.startsWith('engine')) fullEngines.add(next.record.engine);
      else if (result === 'taken') {
        this.drop(next.record.agent_id);
        this.#start(next);
      } else return;
    }
  }

  /**
   * Never throws: runs stay queued while the disk cannot be written. A run
   * whose folder is gone is dropped, so that it blocks no other.
   */
  #slotFor({ record, after }: Waiting): SlotResult {
    try {
      const result = this.slots.take(record, this.#queue);
      if (result !== 'taken' && after.length > 0)
        noteReady(this.#directoryOf(record));
      return result;
    } catch (error) {
      const { agent_id: id } = record;
      if (this.#with.store.has(id)) this.#diskPause.begin(error);
      else this.drop(id);
      return 'contended';
    }
  }

  /** Ids of the runs that this process started and has not seen end. */
  ownRunning(): string[] {
    return this.slots.ids();
  }

  /** The runs that this server has queued, or that have one of its slots. */
  own(): RunRecord[] {
    return [...this.slots.records(), ...this.#queue.records()];
  }

  isQueued(record: RunRecord): boolean {
    const isWaiting = this.#queue.has(record.agent_id);
    return isWaiting && !wasClaimed(this.#directoryOf(record));
  }

  /** True from the launch of a run until this process has seen it end. */
  hasStarted(agentId: string): boolean {
    return this.slots.has(agentId) && !this.#unlaunched.has(agentId);
  }

  /**
   * Resolves once a run that would end with this server is launched or
   * discarded. Undefined for any other run, and for one that is launched.
   */
  preparing(agentId: string): Promise<void> | undefined {
    const preparing = this.#preparing.get(agentId);
    if (!preparing) return undefined;
    const record = this.slots.records().find((one) => one.agent_id === agentId);
    return record && isHeritable(record) ? undefined : preparing;
  }

  /** Resolves once each run with a slot is launched or discarded. */
  async prepared(): Promise<void> {
    await Promise.all(this.#preparing.values());
  }

  /**
   * Drops all queued runs. They never start, except those that this process
   * took over: another server does. Returns the ids of the others.
   */
  close(): string[] {
    this.#closed = true;
    this.#diskPause.end();
    this.#chatsUntil = performance.now() + closingMs;
    const dropped = this.#queue.dropAll();
    return dropped.flatMap(({ record, isTakenOver }) => {
      if (isTakenOver) return [];
      const never = tryNeverStarts(this.#directoryOf(record));
      // One that cannot be recorded as such ends with this process.
      const isClaimed = 'isClaimed' in never && never.isClaimed;
      return isClaimed ? [] : [record.agent_id];
    });
  }

  drop(agentId: string): void {
    this.#queue.drop(agentId);
  }

  #start(waiting: Waiting): void {
    const { record } = waiting;
    const { agent_id: id } = record;
    const ready = this.#readyFor(waiting);
    if (!ready) {
      this.#launch(waiting);
      return;
    }
    const preparing = ready.then(
      (prepared) => {
        this.#unlaunched.delete(id);
        if (this.#isCanceled(record)) return this.#over(record);
        this.#launch(prepared);
        return undefined;
      },
      (error: unknown) => {
        this.#unlaunched.delete(id);
        const directory = this.#directoryOf(record);
        // Git does not name the error of the system.
        const trees = fullTreesOf(record);
        const isOfDisk =
          isRefused(error, this.#with.store.root) ||
          trees ||
          this.#diskPause.isRefused();
        if (isOfDisk && !this.#closed)
          return this.#putBack(waiting, error, trees);
        // Another server takes it over.
        if (this.#closed && isHeritable(record)) return;
        if (this.#closed) requestStop(directory, droppedWithUs);
        notLaunched(directory, error, notPrepared);
        return this.#over(record);
      }
    );
    const reported = preparing.catch(this.#with.onProblem);
    this.#unlaunched.add(id);
    this.#preparing.set(id, reported);
    void reported.then(() => this.#preparing.delete(id));
  }

  /** Undefined when it starts at once, not after the answers to others. */
  #readyFor(waiting: Waiting): Promise<Waiting> | undefined {
    const { record } = waiting;
    const isLater = isHeritable(record) && this.slots.areMany(this.#queue.size);
    const turn = isLater ? this.throttle.later() : undefined;
    if (!turn) return this.#prepare(waiting);
    const prepare = () => !this.#isCanceled(record) && this.#prepare(waiting);
    return whileStarting(this.#directoryOf(record), turn).then(
      () => prepare() || waiting
    );
  }

  /** Undefined when nothing has to be done before the start. */
  #prepare(waiting: Waiting): Promise<Waiting> | undefined {
    const { changeTracker } = this.#with;
    const { record } = waiting;
    const prepare = () => changeTracker.prepare(record);
    const ready =
      waiting.isTakenOver || waiting.isPutBack
        ? changeTracker.clear(record).then(prepare)
        : prepare();
    if (!waiting.createChat) return ready?.then(() => waiting);
    const isWanted = () =>
      performance.now() < this.#chatsUntil && !this.#isCanceled(record);
    return (ready ?? Promise.resolve()).then(() =>
      withChat(waiting, this.#directoryOf(record), isWanted, this.#with)
    );
  }

  #launch(waiting: Waiting): void {
    const { record } = waiting;
    launchRun(waiting, this.#directoryOf(record), this.#with)
      .then((problem) => {
        if (problem !== undefined) return this.#putBack(waiting, problem);
        this.#diskPause.reset();
        return this.#over(record);
      })
      .catch(this.#with.onProblem);
  }

  /** Queues a run again that could not start because of the disk. */
  #putBack(waiting: Waiting, problem: unknown, at?: string) {
    const { store, events } = this.#with;
    const { record } = waiting;
    if (this.#closed && !isHeritable(record))
      requestStop(this.#directoryOf(record), droppedWithUs);
    const isWanted = store.has(record.agent_id) && !this.#isCanceled(record);
    if (this.#closed || !isWanted) return this.#over(record);
    this.slots.giveBack(record);
    this.#queue.putBack({ ...waiting, isPutBack: true });
    this.#diskPause.begin(problem, at);
    events.runChanged(record);
    return undefined;
  }

  /** Handles the end of a run, or a run that never starts. */
  #over(record: RunRecord): Promise<void> | undefined {
    const { changeTracker, events } = this.#with;
    this.slots.release(record);
    events.runExited(record);
    this.pump();
    return this.#isCanceled(record) ? changeTracker.discard(record) : undefined;
  }

  #isCanceled(record: RunRecord): boolean {
    const claim = claimOf(this.#directoryOf(record), record.owner.place);
    return claim?.never === true;
  }

  #directoryOf(record: RunRecord): string {
    return this.#with.store.directoryOf(record.agent_id);
  }
}

/** Ends every run that this process has queued, because its client left. */
export function disconnectQueued(
  starter: RunStarter,
  store: RunStore
): string[] {
  const dropped = starter.close();
  for (const id of dropped) requestStop(store.directoryOf(id), droppedWithUs);
  return dropped;
}
