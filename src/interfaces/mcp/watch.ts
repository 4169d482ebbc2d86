import { messageOf } from '../../core/errors.ts';
import { recur } from '../../core/recur.ts';
import { logProblem } from '../../log.ts';

export interface Subject {
  /** Changes whenever the subject does. */
  stamp: () => string;
  /** Says that it has changed; settles when that has left. */
  tell: () => Promise<unknown>;
}

interface Watched extends Subject {
  told: string;
  toldAt: number;
  isTelling: boolean;
}

/** So often at most is one subject told of. */
const gapMs = 100;
/** Of many, a part is looked at in each turn: all of them within these. */
const turns = 4;
const fewest = 64;

/**
 * Looks at files again and again, and tells which have changed, whoever
 * changed them. Rests while there is nothing to look at.
 */
export class Watch {
  readonly #pauseMs: number;
  readonly #subjects = new Map<string, Watched>();
  #next = 0;
  #stop: (() => void) | undefined;
  #hasEnded = false;

  constructor(pauseMs: number) {
    this.#pauseMs = pauseMs;
  }

  /** From now on; what is watched already goes on as it is. */
  add(key: string, subject: Subject): void {
    // The last request of a client may come to this after its end.
    if (this.#hasEnded || this.#subjects.has(key)) return;
    this.#subjects.set(key, {
      ...subject,
      told: stampOf(subject),
      toldAt: Number.NEGATIVE_INFINITY,
      isTelling: false
    });
    this.#stop ??= recur(this.#pauseMs, async () => this.#look(), logProblem);
  }

  remove(key: string): void {
    this.#subjects.delete(key);
    if (this.#subjects.size === 0) this.#rest();
  }

  /** Watches nothing any more, whatever is added. */
  end(): void {
    this.#hasEnded = true;
    this.#subjects.clear();
    this.#rest();
  }

  #rest(): void {
    this.#stop?.();
    this.#stop = undefined;
  }

  #look(): void {
    const all = [...this.#subjects.values()];
    const share = Math.max(fewest, Math.ceil(all.length / turns));
    const first = this.#next < all.length ? this.#next : 0;
    const turn = all.slice(first, first + share);
    this.#next = first + share;
    for (const subject of turn) this.#lookAt(subject);
  }

  #lookAt(subject: Watched): void {
    // A client that does not read is not told the same twice.
    if (subject.isTelling || performance.now() - subject.toldAt < gapMs) return;
    const stamp = stampOf(subject);
    if (stamp === subject.told) return;
    subject.told = stamp;
    subject.toldAt = performance.now();
    subject.isTelling = true;
    const done = () => {
      subject.isTelling = false;
    };
    subject.tell().then(done, done);
  }
}

/** That it cannot be looked at is a change too: who reads it is told why. */
function stampOf(subject: Subject): string {
  try {
    return subject.stamp();
  } catch (error) {
    return messageOf(error);
  }
}
