import type { ChildProcess } from 'node:child_process';
import { createInterface } from 'node:readline';

interface Answer {
  id?: unknown;
  jsonrpc?: unknown;
  method?: unknown;
  result?: unknown;
  error?: { code?: unknown; message?: unknown };
}

/** Answers that are still to come to one id. */
interface Expected {
  count: number;
  /** They may come or not: it was cancelled. */
  isFree: boolean;
  what: string;
}

/** How a server is spoken to that is judged by every line it says. */
export class FuzzClient {
  readonly child: ChildProcess;
  /** Whatever should not be. */
  readonly faults: string[] = [];
  stderr = '';
  answers = 0;
  readonly #onAnswer: (answer: Answer) => string | undefined;
  readonly #expected = new Map<string, Expected>();
  #wake: (() => void) | undefined;
  #writable: () => void = () => undefined;
  #hasEnded = false;
  #isClosing = false;

  /** @param onAnswer says what is wrong with an answer, if anything is */
  constructor(
    child: ChildProcess,
    onAnswer: (answer: Answer) => string | undefined
  ) {
    this.child = child;
    this.#onAnswer = onAnswer;
    child.stderr?.on('data', (chunk) => {
      this.stderr += String(chunk);
    });
    child.stdin?.on('error', () => undefined);
    child.stdin?.on('drain', () => this.#writable());
    child.once('exit', (code, signal) => {
      this.#hasEnded = true;
      if (!this.#isClosing) this.#fault(`it ended: ${code ?? signal}`);
      this.#wake?.();
      this.#writable();
    });
    if (child.stdout)
      createInterface({ input: child.stdout }).on('line', (line) =>
        this.#receive(line)
      );
  }

  /** Notes that an answer to this id is to come. */
  expect(id: unknown, what: string): void {
    const key = keyOf(id);
    const known = this.#expected.get(key);
    if (known) known.count += 1;
    else this.#expected.set(key, { count: 1, isFree: false, what });
  }

  /** From now on it may stay without an answer. */
  free(id: unknown): void {
    const known = this.#expected.get(keyOf(id));
    if (known) known.isFree = true;
  }

  isOpen(id: unknown): boolean {
    return (this.#expected.get(keyOf(id))?.count ?? 0) > 0;
  }

  /** Requests that must still be answered. */
  open(): string[] {
    return [...this.#expected]
      .filter(([, { count, isFree }]) => count > 0 && !isFree)
      .map(([key, { what }]) => `${key} ${what}`.slice(0, 600));
  }

  /** Bytes as they are; settles when there is room for more. */
  async write(bytes: Buffer | string): Promise<void> {
    if (this.#hasEnded || this.child.stdin?.write(bytes)) return;
    await new Promise<void>((resolve) => {
      this.#writable = resolve;
    });
  }

  /** Waits until no more than so many are open; a fault when they are late. */
  async settle(most: number, withinMs: number): Promise<void> {
    const from = performance.now();
    while (this.open().length > most && !this.#hasEnded) {
      if (performance.now() - from > withinMs) {
        this.#fault(`no answer within ${withinMs} ms: ${this.open()[0]}`);
        return;
      }
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, 200);
        this.#wake = () => {
          clearTimeout(timer);
          resolve();
        };
      });
    }
  }

  /** Closes stdin; a fault when it does not end by itself. */
  async close(): Promise<void> {
    this.#isClosing = true;
    if (this.#hasEnded) return;
    const ended = new Promise<void>((resolve) =>
      this.child.once('exit', () => resolve())
    );
    this.child.stdin?.end();
    const timer = setTimeout(() => {
      this.#fault('it did not end with its input');
      this.child.kill('SIGKILL');
    }, 10_000);
    await ended;
    clearTimeout(timer);
    if (this.child.exitCode !== 0)
      this.#fault(`it ended with ${this.child.exitCode}`);
  }

  #receive(line: string): void {
    this.answers += 1;
    let answer: Answer;
    try {
      answer = JSON.parse(line);
    } catch {
      this.#fault(`no JSON on stdout: ${line.slice(0, 300)}`);
      return;
    }
    if (answer.jsonrpc !== '2.0') this.#fault(`no JSON-RPC: ${line}`);
    if (answer.method !== undefined) return;
    const known = this.#expected.get(keyOf(answer.id));
    if (!known || known.count === 0)
      this.#fault(`nobody asked for: ${line.slice(0, 300)}`);
    else {
      known.count -= 1;
      const fault = this.#onAnswer(answer);
      if (fault) this.#fault(`${fault}: ${known.what.slice(0, 600)}`);
      if (known.count === 0) this.#expected.delete(keyOf(answer.id));
    }
    this.#wake?.();
  }

  #fault(text: string): void {
    if (this.faults.length < 20) this.faults.push(text.slice(0, 1500));
  }
}

function keyOf(id: unknown): string {
  return `${typeof id} ${String(id)}`;
}
