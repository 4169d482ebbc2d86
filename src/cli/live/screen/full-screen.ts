import { hangUp } from '../../process/process-end.ts';
import { KeyReader, type KeyUser } from './keys.ts';
import {
  clearRight,
  enterScreen,
  HeldTerminal,
  hideCursor,
  leaveScreen,
  markPastes,
  type Size,
  showCursor,
  sizeOf,
  toLine,
  unmarkPastes,
  wrapOff,
  wrapOn
} from './terminal.ts';

interface ScreenUser extends KeyUser {
  /** The lines to show; lines below the screen are cut off. */
  render: (size: Size) => string[];
  /** Gets text for stderr, which is printed when the screen closes. */
  onMessage: (text: string) => void;
}

/**
 * Uses the whole terminal and its keys. The old content comes back when the
 * screen is closed or the process exits.
 */
export class FullScreen {
  readonly #user: ScreenUser;
  readonly #terminal: HeldTerminal;
  readonly #messages: string[] = [];
  readonly #keys: KeyReader;
  #shown: string[] = [];

  constructor(user: ScreenUser) {
    this.#user = user;
    this.#keys = new KeyReader(user);
    const { stdin, stdout, stderr } = process;
    const write = stderr.write;
    this.#terminal = new HeldTerminal(stdout.fd, {
      take: () => {
        stdin.setRawMode(true);
        stderr.write = new Proxy(write, {
          apply: (_, __, args: unknown[]) => this.#deferMessage(args)
        });
        return `${enterScreen}${hideCursor}${wrapOff}${markPastes}`;
      },
      leave: () => {
        stderr.write = write;
        stdin.setRawMode(false);
        return `${unmarkPastes}${wrapOn}${showCursor}${leaveScreen}`;
      },
      released: () => {
        for (const text of this.#messages.splice(0)) stderr.write(text);
      },
      resumed: () => this.#redraw()
    });
    this.#terminal.take();
    stdin.setEncoding('utf8');
    stdin.on('data', this.#onData);
    // In raw mode no key ends stdin, so at its end the terminal is gone.
    stdin.once('end', hangUp);
    stdin.resume();
    stdout.on('resize', this.#redraw);
    this.draw();
  }

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

  /** Stops the process, as Ctrl-Z does outside of raw mode. */
  stop(): void {
    process.kill(process.pid, 'SIGTSTP');
  }

  close(): void {
    const { stdin, stdout } = process;
    stdin.off('data', this.#onData);
    stdin.off('end', hangUp);
    this.#keys.close();
    stdin.pause();
    stdout.off('resize', this.#redraw);
    this.#terminal.release();
  }

  readonly #onData = (data: Buffer | string): void => {
    this.#keys.take(data.toString());
  };

  readonly #redraw = (): void => {
    this.#shown = [];
    this.draw();
  };

  #deferMessage([text, encoding, done]: unknown[]): boolean {
    if (String(text) !== '') {
      this.#messages.push(String(text));
      this.#user.onMessage(String(text));
    }
    for (const called of [encoding, done])
      if (typeof called === 'function') called();
    return true;
  }
}
