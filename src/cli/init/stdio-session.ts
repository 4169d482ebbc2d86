import type { ChildProcess } from 'node:child_process';
import { createInterface } from 'node:readline';
import spawn from 'cross-spawn';
import { isObject } from '../../config/overrides.ts';
import { version } from '../../host/package.ts';
import type { Launch } from '../clients/clients.ts';
import { killGroup } from '../doctor/probe-program.ts';

type Json = Record<string, unknown>;

/**
 * Thrown when a server does not start, ends, does not answer in time or
 * returns an error.
 */
export class SessionFault extends Error {
  readonly why: 'not there' | 'ended' | 'silent' | 'refused';

  constructor(why: SessionFault['why'], message: string) {
    super(message);
    this.why = why;
  }
}

/** Of a server's stderr, the last characters are kept. */
const maximumChars = 20_000;
/** How long a server may take to exit after its client disconnects. */
const endMs = 2000;

/** An MCP server over stdio, started as a client starts it. */
export class StdioSession {
  readonly #child: ChildProcess;
  readonly #exited: Promise<void>;
  readonly #waiting = new Map<number, (message: Json) => void>();
  #fault: SessionFault | undefined;
  #last = 0;
  stderr = '';

  constructor(
    { command, args }: Launch,
    env: Record<string, string>,
    cwd: string
  ) {
    // The server leads a process group, so that the children of npx can be
    // killed with it.
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

  /** The handshake that begins a session. */
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

  /** @throws SessionFault when the server gives no answer, or an error */
  async request(method: string, params: Json, limitMs: number): Promise<Json> {
    this.#last += 1;
    const id = this.#last;
    const answer = await new Promise<Json>((resolve, reject) => {
      if (this.#fault) {
        reject(this.#fault);
        return;
      }
      const onTimeout = () =>
        reject(new SessionFault('silent', `no answer to ${method}`));
      const timer = setTimeout(onTimeout, limitMs);
      this.#waiting.set(id, (message) => {
        clearTimeout(timer);
        if (this.#fault) reject(this.#fault);
        else resolve(message);
      });
      this.#send({ id, method, params });
    });
    if (isObject(answer.result)) return answer.result;
    const reason = isObject(answer.error) ? answer.error.message : undefined;
    throw new SessionFault(
      'refused',
      String(reason ?? `no result of ${method}`)
    );
  }

  /** Disconnects, waits for the exit, and kills the rest of the group. */
  async close(): Promise<void> {
    this.#child.stdin?.end();
    const timer = setTimeout(() => this.#kill(), endMs);
    await this.#exited;
    clearTimeout(timer);
    this.#kill();
  }

  #kill(): void {
    killGroup(this.#child);
    // A process in another group may keep these streams open.
    this.#child.stdout?.destroy();
    this.#child.stderr?.destroy();
  }

  #end(fault: SessionFault): void {
    if (this.#fault) return;
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
    // A request of the server may have the id of one of our requests.
    if ('method' in message) return;
    const answer = this.#waiting.get(message.id);
    this.#waiting.delete(message.id);
    answer?.(message);
  }
}
