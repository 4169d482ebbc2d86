import type { ChildProcess } from 'node:child_process';
import { createInterface } from 'node:readline';
import spawn from 'cross-spawn';
import { isObject } from '../../config-overrides.ts';
import { version } from '../../version.ts';
import type { Launch } from '../clients.ts';

type Json = Record<string, unknown>;

/** A server that did not do what was asked of it. */
export class SessionFault extends Error {
  readonly why: 'not there' | 'ended' | 'silent' | 'refused';

  constructor(why: SessionFault['why'], message: string) {
    super(message);
    this.why = why;
  }
}

/** How much of what a server says on stderr is kept. */
const maximumChars = 20_000;
/** For a server to end when its client has left. */
const endMs = 2000;

/** A server on stdin and stdout, started as a client starts it. */
export class StdioSession {
  readonly #child: ChildProcess;
  readonly #exited: Promise<void>;
  readonly #waiting = new Map<number, (message: Json) => void>();
  #fault: SessionFault | undefined;
  #isOver = false;
  #last = 0;
  stderr = '';

  constructor(
    { command, args }: Launch,
    env: Record<string, string>,
    cwd: string
  ) {
    // In a group of its own: what a starter such as npx leaves goes with it.
    const detached = process.platform !== 'win32';
    const child = spawn(command, args, { cwd, env, detached, stdio: 'pipe' });
    this.#child = child;
    this.#exited = new Promise((resolve) => {
      child.once('error', (error) => {
        this.#end(new SessionFault('not there', error.message));
        resolve();
      });
      child.once('close', (code, signal) => {
        const how = signal ? `by ${signal}` : `with exit code ${code}`;
        this.#end(new SessionFault('ended', `it ended ${how}`));
        resolve();
      });
    });
    child.stdin?.on('error', () => undefined);
    child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      this.stderr = `${this.stderr}${text}`.slice(-maximumChars);
    });
    if (child.stdout)
      createInterface({ input: child.stdout }).on('line', (line) =>
        this.#receive(line)
      );
  }

  /** The handshake, as clients begin. */
  async initialize(limitMs: number): Promise<void> {
    await this.request(
      'initialize',
      {
        protocolVersion: '2025-11-25',
        capabilities: {},
        clientInfo: { name: 'troupe-init', version }
      },
      limitMs
    );
    this.#send({ method: 'notifications/initialized' });
  }

  /** @throws SessionFault when there is no answer, or one that is an error */
  async request(method: string, params: Json, limitMs: number): Promise<Json> {
    this.#last += 1;
    const id = this.#last;
    const answer = await new Promise<Json>((resolve, reject) => {
      if (this.#fault) {
        reject(this.#fault);
        return;
      }
      const silent = () =>
        reject(new SessionFault('silent', `no answer to ${method}`));
      const timer = setTimeout(silent, limitMs);
      this.#waiting.set(id, (message) => {
        clearTimeout(timer);
        if (this.#fault) reject(this.#fault);
        else resolve(message);
      });
      this.#send({ id, method, params });
    });
    if (isObject(answer.result)) return answer.result;
    const said = isObject(answer.error) ? answer.error.message : undefined;
    throw new SessionFault('refused', String(said ?? `no result of ${method}`));
  }

  /** Leaves as a client does; what has not ended by then is killed. */
  async close(): Promise<void> {
    this.#child.stdin?.end();
    const patience = setTimeout(() => this.#kill(), endMs);
    await this.#exited;
    clearTimeout(patience);
    this.#kill();
  }

  #kill(): void {
    const { pid } = this.#child;
    try {
      if (pid === undefined || process.platform === 'win32') this.#child.kill();
      else process.kill(-pid, 'SIGKILL');
    } catch {
      // Nothing of it is left.
    }
    // What is in another group may keep them open.
    this.#child.stdout?.destroy();
    this.#child.stderr?.destroy();
  }

  #end(fault: SessionFault): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#fault = fault;
    for (const answer of this.#waiting.values()) answer({});
    this.#waiting.clear();
  }

  #send(message: Json): void {
    this.#child.stdin?.write(
      `${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`
    );
  }

  #receive(line: string): void {
    let message: unknown;
    try {
      message = JSON.parse(line);
    } catch {
      return;
    }
    if (!isObject(message) || typeof message.id !== 'number') return;
    // A question of its own may have the number of one of ours.
    if ('method' in message) return;
    const answer = this.#waiting.get(message.id);
    this.#waiting.delete(message.id);
    answer?.(message);
  }
}
