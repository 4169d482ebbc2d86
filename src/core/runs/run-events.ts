import type { Outcome, RunRecord } from './run.ts';

interface EndedRun {
  record: RunRecord;
  outcome: Outcome;
}

type Listener<Event> = (event: Event) => void;
type Unsubscribe = () => void;

/**
 * Publishes the run events of this server. Publishing is synchronous and never
 * throws: an error of a listener is reported, and the next listener is called.
 * A spawn and an end are on disk and in the journal before they are published;
 * see `RunJournal`.
 */
export class RunEvents {
  readonly #onProblem: (problem: unknown) => void;
  readonly #spawned = new Set<Listener<RunRecord>>();
  readonly #started = new Set<Listener<RunRecord>>();
  readonly #exited = new Set<Listener<RunRecord>>();
  readonly #delayed = new Set<Listener<RunRecord>>();
  readonly #changed = new Set<Listener<RunRecord>>();
  readonly #ended = new Set<Listener<EndedRun>>();

  constructor(onProblem: (problem: unknown) => void) {
    this.#onProblem = onProblem;
  }

  /** A run was recorded: it is queued, or it cannot start. */
  onRunSpawned(listener: Listener<RunRecord>): Unsubscribe {
    return subscribe(this.#spawned, listener);
  }

  /** The process of a run is about to be launched. */
  onRunStarted(listener: Listener<RunRecord>): Unsubscribe {
    return subscribe(this.#started, listener);
  }

  /** The supervisor of a run of this server has ended or will never start. */
  onRunExited(listener: Listener<RunRecord>): Unsubscribe {
    return subscribe(this.#exited, listener);
  }

  /** A run has ended, and recording its end takes long. */
  onRunDelayed(listener: Listener<RunRecord>): Unsubscribe {
    return subscribe(this.#delayed, listener);
  }

  /**
   * A run has ended, but this server does not record the end: another server
   * has done so, or a server that has the engine will. Or a run is queued
   * again, because it could not start.
   */
  onRunChanged(listener: Listener<RunRecord>): Unsubscribe {
    return subscribe(this.#changed, listener);
  }

  /** This server has recorded the end of a run. */
  onRunEnded(listener: Listener<EndedRun>): Unsubscribe {
    return subscribe(this.#ended, listener);
  }

  runSpawned(record: RunRecord): void {
    this.#publish(this.#spawned, record);
  }

  runStarted(record: RunRecord): void {
    this.#publish(this.#started, record);
  }

  runExited(record: RunRecord): void {
    this.#publish(this.#exited, record);
  }

  runDelayed(record: RunRecord): void {
    this.#publish(this.#delayed, record);
  }

  runChanged(record: RunRecord): void {
    this.#publish(this.#changed, record);
  }

  runEnded(run: EndedRun): void {
    this.#publish(this.#ended, run);
  }

  /** Iterates over a copy, because a listener may unsubscribe when called. */
  #publish<Event>(listeners: Set<Listener<Event>>, event: Event): void {
    for (const listener of [...listeners])
      try {
        listener(event);
      } catch (problem) {
        this.#onProblem(problem);
      }
  }
}

function subscribe<Event>(
  listeners: Set<Listener<Event>>,
  listener: Listener<Event>
): Unsubscribe {
  listeners.add(listener);
  return () => listeners.delete(listener);
}
