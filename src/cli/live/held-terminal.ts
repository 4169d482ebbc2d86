import { writeSync } from 'node:fs';

/** What is done to a terminal while it is held, and what takes it back. */
export interface Hold {
  take: () => string;
  leave: () => string;
  /** It is given back. */
  left?: () => void;
  /** It is ours again after a pause, by Ctrl-Z and `fg`. */
  resumed: () => void;
}

/**
 * A terminal that is changed for a while. It is given back when the process
 * ends, however that comes to pass (kill -9 aside), and while it is stopped.
 */
export class HeldTerminal {
  readonly #descriptor: number;
  readonly #hold: Hold;
  #isHeld = false;

  constructor(descriptor: number, hold: Hold) {
    this.#descriptor = descriptor;
    this.#hold = hold;
  }

  take(): void {
    if (this.#isHeld) return;
    this.#isHeld = true;
    this.#write(this.#hold.take());
    process.on('exit', this.#leave);
    process.on('SIGTSTP', this.#stop);
    process.on('SIGCONT', this.#resume);
  }

  giveBack(): void {
    process.off('exit', this.#leave);
    process.off('SIGTSTP', this.#stop);
    process.off('SIGCONT', this.#resume);
    this.#leave();
  }

  readonly #leave = (): void => {
    if (!this.#isHeld) return;
    this.#isHeld = false;
    this.#write(this.#hold.leave());
    this.#hold.left?.();
  };

  readonly #stop = (): void => {
    this.#leave();
    process.kill(process.pid, 'SIGSTOP');
  };

  readonly #resume = (): void => {
    if (this.#isHeld) return;
    this.#isHeld = true;
    this.#write(this.#hold.take());
    this.#hold.resumed();
  };

  /** At once, as there may be no later. */
  #write(text: string): void {
    try {
      writeSync(this.#descriptor, text);
    } catch {
      // The terminal is gone.
    }
  }
}
