import { messageOf } from '../../../core/errors.ts';
import { poll } from '../../../core/timing.ts';
import { logProblem } from '../../../host/log.ts';

/** The poll interval. Clients expect to see changes of any process soon. */
const pauseMs = 40;

/** The resources that a client is subscribed to. */
export class Subscriptions {
  readonly #notify: (uri: string) => Promise<void>;
  readonly #watch: Watch;
  /** The subscribed URIs, by the URI without parameters such as `tail`. */
  readonly #uris = new Map<string, Set<string>>();

  constructor(
    notify: (uri: string) => Promise<void>,
    canNotify: () => boolean
  ) {
    this.#notify = notify;
    this.#watch = new Watch(pauseMs, canNotify);
  }

  /**
   * @param key the URI without parameters
   * @param stamp changes whenever the resource does
   */
  add(key: string, uri: string, stamp: () => string): void {
    const uris = this.#uris.get(key) ?? new Set();
    this.#uris.set(key, uris.add(uri));
    const notify = () => Promise.all([...uris].map(this.#notify));
    this.#watch.add(key, { stamp, notify });
  }

  remove(key: string, uri: string): void {
    const uris = this.#uris.get(key);
    uris?.delete(uri);
    if (uris?.size !== 0) return;
    this.#uris.delete(key);
    this.#watch.remove(key);
  }

  end(): void {
    this.#uris.clear();
    this.#watch.end();
  }
}

interface Subject {
  /** Changes whenever the subject does. */
  stamp: () => string;
  /** Reports a change; settles when the notification has been sent. */
  notify: () => Promise<unknown>;
}

interface Watched extends Subject {
  /** The stamp of the last notification. */
  last: string;
  notifiedAt: number;
  isNotifying: boolean;
}

/** The shortest time between two notifications about one subject. */
const gapMs = 100;
/** With many subjects, one poll checks one in four of them. */
const pollsPerCycle = 4;
/** The least number of subjects that one poll checks. */
const minPerPoll = 64;

/**
 * Polls subjects and notifies the client of changes by any process. The timer
 * runs only while there are subjects. Changes while the client has no open
 * stream lead to one notification once it has opened one.
 */
export class Watch {
  readonly #pauseMs: number;
  readonly #canNotify: () => boolean;
  readonly #subjects = new Map<string, Watched>();
  #next = 0;
  #stop: (() => void) | undefined;
  #hasEnded = false;

  constructor(pauseMs: number, canNotify: () => boolean = () => true) {
    this.#pauseMs = pauseMs;
    this.#canNotify = canNotify;
  }

  /** Starts to watch a subject; no-op if it is already watched. */
  add(key: string, subject: Subject): void {
    // The last request of a client may be handled after the end.
    if (this.#hasEnded || this.#subjects.has(key)) return;
    this.#subjects.set(key, {
      ...subject,
      last: stampOf(subject),
      notifiedAt: Number.NEGATIVE_INFINITY,
      isNotifying: false
    });
    this.#stop ??= poll(this.#pauseMs, async () => this.#poll(), logProblem);
  }

  remove(key: string): void {
    this.#subjects.delete(key);
    if (this.#subjects.size === 0) this.#stopPolling();
  }

  /** Stops for good; later subjects are ignored. */
  end(): void {
    this.#hasEnded = true;
    this.#subjects.clear();
    this.#stopPolling();
  }

  #stopPolling(): void {
    this.#stop?.();
    this.#stop = undefined;
  }

  #poll(): void {
    if (!this.#canNotify()) return;
    const all = [...this.#subjects.values()];
    const share = Math.max(minPerPoll, Math.ceil(all.length / pollsPerCycle));
    const first = this.#next < all.length ? this.#next : 0;
    const batch = all.slice(first, first + share);
    this.#next = first + share;
    for (const subject of batch) this.#check(subject);
  }

  #check(subject: Watched): void {
    // A client that does not read gets no second notification.
    const isRecent = performance.now() - subject.notifiedAt < gapMs;
    if (subject.isNotifying || isRecent) return;
    const stamp = stampOf(subject);
    if (stamp === subject.last) return;
    subject.last = stamp;
    subject.notifiedAt = performance.now();
    subject.isNotifying = true;
    const done = () => {
      subject.isNotifying = false;
    };
    subject.notify().then(done, done);
  }
}

/** A read error counts as a change: the client gets it when it reads. */
function stampOf(subject: Subject): string {
  try {
    return subject.stamp();
  } catch (error) {
    return messageOf(error);
  }
}
