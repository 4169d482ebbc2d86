import {
  clearRight,
  enterScreen,
  hideCursor,
  leaveScreen,
  showCursor,
  toLine,
  wrapOff,
  wrapOn
} from './escapes.ts';
import { HeldTerminal } from './held-terminal.ts';
import { KeyReader } from './key-reader.ts';
import { type Size, sizeOf } from './size.ts';

export interface ScreenUser {
  /** One text for each line; those beyond the last one are not shown. */
  render: (size: Size) => string[];
  onKey: (key: string) => void;
  /** Somebody wanted to print this on stderr. It is printed afterwards. */
  onMessage: (text: string) => void;
}

/**
 * The whole terminal, with its keys. What was on it before comes back when it
 * is closed, or when the process ends.
 */
export class FullScreen {
  readonly #user: ScreenUser;
  readonly #terminal: HeldTerminal;
  readonly #messages: string[] = [];
  readonly #keys: KeyReader;
  #shown: string[] = [];

  constructor(user: ScreenUser) {
    this.#user = user;
    this.#keys = new KeyReader((key) => user.onKey(key));
    const { stdin, stdout, stderr } = process;
    const write = stderr.write;
    this.#terminal = new HeldTerminal(stdout.fd, {
      take: () => {
        stdin.setRawMode(true);
        stderr.write = new Proxy(write, {
          apply: (_, __, args: unknown[]) => this.#keep(args)
        });
        return `${enterScreen}${hideCursor}${wrapOff}`;
      },
      leave: () => {
        stderr.write = write;
        stdin.setRawMode(false);
        return `${wrapOn}${showCursor}${leaveScreen}`;
      },
      left: () => {
        for (const text of this.#messages.splice(0)) stderr.write(text);
      },
      resumed: () => this.#redraw()
    });
    this.#terminal.take();
    stdin.setEncoding('utf8');
    stdin.on('data', this.#onData);
    stdin.resume();
    stdout.on('resize', this.#redraw);
    this.draw();
  }

  /** Brings on the screen what has changed. */
  draw(): void {
    const size = sizeOf(process.stdout);
    const { rows } = size;
    const lines = this.#user.render(size).slice(0, rows);
    const whole = Array.from({ length: rows }, (_, row) => lines[row] ?? '');
    const text = whole
      .map((line, row) =>
        line === this.#shown[row] ? '' : `${toLine(row)}${line}${clearRight}`
      )
      .join('');
    this.#shown = whole;
    if (text !== '') process.stdout.write(text);
  }

  /** Stops the process as a shell would at Ctrl-Z. */
  stop(): void {
    process.kill(process.pid, 'SIGTSTP');
  }

  close(): void {
    const { stdin, stdout } = process;
    stdin.off('data', this.#onData);
    this.#keys.close();
    stdin.pause();
    stdout.off('resize', this.#redraw);
    this.#terminal.giveBack();
  }

  readonly #onData = (data: Buffer | string): void => {
    this.#keys.take(data.toString());
  };

  readonly #redraw = (): void => {
    this.#shown = [];
    this.draw();
  };

  #keep([text, encoding, done]: unknown[]): boolean {
    if (String(text) !== '') {
      this.#messages.push(String(text));
      this.#user.onMessage(String(text));
    }
    for (const called of [encoding, done])
      if (typeof called === 'function') called();
    return true;
  }
}
