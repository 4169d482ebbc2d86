import { readFile } from 'node:fs/promises';
import type { Socket } from 'node:net';
import { join } from 'node:path';
import type { ApiEngine, Failure } from '../../../plugin/plugin.ts';
import {
  type ApiEvent,
  type ApiTask,
  type HostedAgent,
  takenLine
} from './api-task.ts';
import { execute } from './execute.ts';

interface ApiHostOptions {
  apiKey: string;
  engineOf: (task: ApiTask) => Promise<ApiEngine | Failure>;
  /** Called when there was no agent for the idle time, or for `end`. */
  onIdle: () => void;
  /** Replaced in tests. */
  idleMs?: number;
  /** Bytes that wait to be written before the provider is read on. */
  bufferBytes?: number;
}

/**
 * Makes the calls of several agents of one engine. Each agent is a socket: its
 * program copies what is written there to its output, under a supervisor of
 * its own. When the socket closes, the agent has ended and its call is aborted.
 */
export class ApiHost {
  readonly #options: Required<ApiHostOptions>;
  readonly #agents = new Set<Socket>();
  #idle: NodeJS.Timeout | undefined;
  #isEnding = false;

  constructor(options: ApiHostOptions) {
    this.#options = { idleMs: 5000, bufferBytes: 1024 * 1024, ...options };
    this.#startIdle();
  }

  /** Serves an agent, once its program says that it runs. */
  take(agent: HostedAgent, socket: Socket): void {
    clearTimeout(this.#idle);
    this.#agents.add(socket);
    const gone = new AbortController();
    socket.on('error', () => undefined);
    socket.once('data', () => void this.#serve(agent, socket, gone.signal));
    socket.once('close', () => {
      gone.abort(new Error('the agent has ended'));
      this.#agents.delete(socket);
      if (this.#agents.size === 0) this.#startIdle();
    });
  }

  /** Its server has ended: serves the agents that it has, and no more. */
  end(): void {
    this.#isEnding = true;
    if (this.#agents.size === 0) this.#startIdle();
  }

  #startIdle(): void {
    const { idleMs, onIdle } = this.#options;
    clearTimeout(this.#idle);
    if (this.#isEnding) onIdle();
    else this.#idle = setTimeout(onIdle, idleMs);
  }

  async #serve(
    { directory, outputLimitBytes }: HostedAgent,
    socket: Socket,
    signal: AbortSignal
  ): Promise<void> {
    const { apiKey, engineOf, bufferBytes } = this.#options;
    const output = new AgentOutput(socket, outputLimitBytes, bufferBytes);
    const write = (event: ApiEvent) => output.write(event);
    try {
      const text = await readFile(join(directory, 'stdin'), 'utf8');
      const task: ApiTask = JSON.parse(text);
      socket.write(takenLine);
      const engine = await engineOf(task);
      if ('code' in engine)
        write({ type: 'reply', reply: { finished: false, failure: engine } });
      else
        await execute(engine, task, {
          apiKey,
          signal,
          write,
          roomForMore: () => output.room()
        });
      socket.end();
    } catch {
      // Without its task; the agent's own process reports why.
      socket.destroy();
    }
  }
}

/** Writes an agent's events, and limits how many of them are in memory. */
class AgentOutput {
  readonly #socket: Socket;
  readonly #limitBytes: number;
  readonly #bufferBytes: number;

  constructor(socket: Socket, limitBytes: number, bufferBytes: number) {
    this.#socket = socket;
    this.#limitBytes = limitBytes;
    this.#bufferBytes = bufferBytes;
  }

  write(event: ApiEvent): void {
    if (!this.#socket.destroyed)
      this.#socket.write(`${JSON.stringify(event)}\n`);
  }

  /**
   * Resolves when little enough waits to be written, or when the agent has
   * ended. Past the output limit that is when its supervisor ends it.
   */
  async room(): Promise<void> {
    const { destroyed, bytesWritten, writableLength } = this.#socket;
    if (destroyed) return;
    const isPast = this.#limitBytes > 0 && bytesWritten > this.#limitBytes;
    if (!isPast && writableLength <= this.#bufferBytes) return;
    await new Promise<void>((resolve) => {
      const settle = () => {
        this.#socket.off('close', settle);
        this.#socket.off('drain', settle);
        resolve();
      };
      this.#socket.once('close', settle);
      if (!isPast) this.#socket.once('drain', settle);
    });
  }
}
