import { writeSync } from 'node:fs';

/** How a terminal is changed, and how the change is undone. */
interface Hold {
  /** Changes the terminal; returns escape sequences to write. */
  take: () => string;
  /** Restores the terminal; returns escape sequences to write. */
  leave: () => string;
  /** Called after the terminal was restored. */
  released?: () => void;
  /** Called after the terminal was changed again, after Ctrl-Z and `fg`. */
  resumed: () => void;
}

/**
 * A terminal that is changed temporarily. It is restored at every exit of the
 * process except SIGKILL, and while the process is stopped.
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

  release(): void {
    process.off('exit', this.#leave);
    process.off('SIGTSTP', this.#stop);
    process.off('SIGCONT', this.#resume);
    this.#leave();
  }

  readonly #leave = (): void => {
    if (!this.#isHeld) return;
    this.#isHeld = false;
    this.#write(this.#hold.leave());
    this.#hold.released?.();
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

  /** Writes synchronously: the process may be exiting. */
  #write(text: string): void {
    try {
      writeSync(this.#descriptor, text);
    } catch {
      // The terminal is gone.
    }
  }
}

export const hideCursor = '\u001b[?25l';
export const showCursor = '\u001b[?25h';
/** Without wrapping, a line with a misjudged width stays one line. */
export const wrapOff = '\u001b[?7l';
export const wrapOn = '\u001b[?7h';
/** Marks the beginning and the end of pasted text. */
export const markPastes = '\u001b[?2004h';
export const unmarkPastes = '\u001b[?2004l';
export const clearBelow = '\u001b[J';
export const clearRight = '\u001b[K';
export function up(lines: number): string {
  return lines > 0 ? `\u001b[${lines}A` : '';
}

export function down(lines: number): string {
  return lines > 0 ? `\u001b[${lines}B` : '';
}

/** The alternate screen of editors, which keeps the old content. */
export const enterScreen = '\u001b[?1049h';
export const leaveScreen = '\u001b[?1049l';

/** Moves to the beginning of a line, counted from 0. */
export function toLine(line: number): string {
  return `\u001b[${line + 1};1H`;
}

export interface Size {
  columns: number;
  rows: number;
}

/** The size of a terminal; 80 by 24 if it does not report its size. */
export function sizeOf(terminal: Size): Size {
  return { columns: terminal.columns || 80, rows: terminal.rows || 24 };
}

/** Puts a text into the clipboard, if the terminal allows it (OSC 52). */
export function toClipboard(text: string): string {
  return `\u001b]52;c;${Buffer.from(text).toString('base64')}\u0007`;
}
