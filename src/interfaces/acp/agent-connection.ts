import { type ChildProcess, spawn } from 'node:child_process';
import { constants } from 'node:os';
import { MessageLines } from '../mcp/transport/message-lines.ts';

type Fields = Record<string, unknown>;

/** An error that the program answers a request with. */
export class AgentError extends Error {
  readonly code: number;

  constructor(code: number, message: string) {
    super(message);
    this.code = code;
  }
}

interface Handlers {
  /** Answers a request of the program. */
  request: (method: string, params: Fields) => Promise<Fields>;
  notify: (method: string, params: Fields) => void;
}

const mostLineBytes = 64 * 1024 * 1024;

/**
 * A program that speaks the Agent Client Protocol: JSON-RPC in lines over its
 * stdin and stdout. Its stderr is ours.
 */
export class AgentConnection {
  /** Resolves with the exit code, as a shell has it. */
  readonly ended: Promise<number>;
  readonly #child: ChildProcess;
  readonly #handlers: Handlers;
  readonly #pending = new Map<
    number,
    { resolve: (result: Fields) => void; reject: (error: Error) => void }
  >();
  #count = 0;

  constructor(command: string, args: string[], handlers: Handlers) {
    this.#handlers = handlers;
    const child = spawn(command, args, { stdio: ['pipe', 'pipe', 'inherit'] });
    this.#child = child;
    this.ended = new Promise((resolve) => {
      child.once('error', (error) => {
        process.stderr.write(`${error.message}\n`);
        resolve(127);
      });
      child.once('close', (code, signal) =>
        // Like a shell.
        resolve(code ?? 128 + (signal ? constants.signals[signal] : 0))
      );
    });
    void this.ended.then(() => {
      const gone = new Error('The program ended before it answered.');
      for (const { reject } of this.#pending.values()) reject(gone);
      this.#pending.clear();
    });
    child.stdin?.on('error', () => undefined);
    const lines = new MessageLines(mostLineBytes);
    child.stdout?.on('data', (chunk: Buffer) => {
      for (const line of lines.add(chunk))
        if (typeof line === 'string') this.#receive(line);
    });
  }

  /** @throws AgentError, or Error if the program ends */
  request(method: string, params: Fields): Promise<Fields> {
    this.#count += 1;
    const id = this.#count;
    return new Promise((resolve, reject) => {
      this.#pending.set(id, { resolve, reject });
      this.#send({ id, method, params });
    });
  }

  /** Lets the program end by itself, as its input does. */
  close(): void {
    this.#child.stdin?.end();
  }

  kill(): void {
    this.#child.kill('SIGTERM');
  }

  #send(message: Fields): void {
    this.#child.stdin?.write(
      `${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`
    );
  }

  #receive(line: string): void {
    let message: Fields;
    try {
      message = Object(JSON.parse(line));
    } catch {
      // Some programs print remarks between the messages.
      return;
    }
    const { id, method } = message;
    const params: Fields = Object(message.params);
    if (typeof method !== 'string') this.#settle(message);
    else if (id === undefined) this.#handlers.notify(method, params);
    else void this.#answer(id, method, params);
  }

  #settle({ id, result, error }: Fields): void {
    const pending = this.#pending.get(Number(id));
    if (!pending) return;
    this.#pending.delete(Number(id));
    if (error === undefined) pending.resolve(Object(result));
    else pending.reject(errorOf(Object(error)));
  }

  async #answer(id: unknown, method: string, params: Fields): Promise<void> {
    try {
      this.#send({ id, result: await this.#handlers.request(method, params) });
    } catch (problem) {
      const code = problem instanceof AgentError ? problem.code : -32603;
      const message =
        problem instanceof Error ? problem.message : String(problem);
      this.#send({ id, error: { code, message } });
    }
  }
}

function errorOf({ code, message, data }: Fields): AgentError {
  const { details } = Object(data);
  const said = [message, details].filter((text) => typeof text === 'string');
  return new AgentError(Number(code), said.join(': '));
}
