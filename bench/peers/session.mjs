/** A session over stdio with a server and the processes that it starts. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { memoryOf, processesOf } from '../processes.mjs';
import { cleanEnvironment } from '../support.mjs';

/** A server without an answer after this time counts as hanging. */
const answerMs = 30_000;
/** How long a server may take to exit after its client disconnects. */
const exitMs = 2000;

export class Session {
  #next = 0;
  #waiting = new Map();
  #rest = [];

  /** @param stage from `setStage`: the working directory and the PATH */
  constructor(peer, stage, node) {
    this.base = stage.base;
    const [command, ...args] = peer.program
      ? [peer.path, ...peer.args]
      : [node, peer.path, ...(peer.args ?? [])];
    this.startedAt = performance.now();
    this.child = spawn(command, args, {
      cwd: stage.path,
      env: { ...cleanEnvironment(stage), PATH: stage.searched },
      stdio: ['pipe', 'pipe', 'ignore']
    });
    const end = () => {
      for (const { reject } of this.#waiting.values())
        reject(new Error(`${peer.name} ended`));
    };
    // `once` rejects when the server does not start.
    this.exited = once(this.child, 'exit').then(end, end);
    this.child.stdin.on('error', () => undefined);
    this.child.stdout.on('data', (chunk) => this.#receive(chunk));
  }

  /** @returns the result, and the time at which its last byte arrived */
  async request(method, params = {}) {
    this.#next += 1;
    const id = this.#next;
    const answer = new Promise((resolve, reject) =>
      this.#waiting.set(id, { resolve, reject })
    );
    const limit = setTimeout(
      () => this.#waiting.get(id)?.reject(new Error(`${method}: no answer`)),
      answerMs
    );
    this.send({ jsonrpc: '2.0', id, method, params });
    const { line, at } = await answer.finally(() => clearTimeout(limit));
    const { result, error } = JSON.parse(line);
    if (error) throw new Error(error.message);
    return { result, at };
  }

  /** The answer of a tool as text and, if it is JSON, as data. */
  async call([name, args]) {
    const { result, at } = await this.request('tools/call', {
      name,
      arguments: args
    });
    const text = result.content?.[0]?.text ?? '';
    if (result.isError) throw new Error(text.slice(0, 200));
    return { text, data: result.structuredContent ?? dataOf(text), at };
  }

  async initialize() {
    const { at } = await this.request('initialize', {
      protocolVersion: '2025-06-18',
      capabilities: {},
      clientInfo: { name: 'bench', version: '1' }
    });
    this.send({ jsonrpc: '2.0', method: 'notifications/initialized' });
    return at - this.startedAt;
  }

  send(message) {
    this.child.stdin.write(`${JSON.stringify(message)}\n`);
  }

  /** Megabytes of the server and of all running processes that it started. */
  memory() {
    const all = processesOf(this.base).map(memoryIfThere);
    const sum = (what) => all.reduce((total, one) => total + one[what], 0);
    return { now: sum('now'), peak: sum('peak'), processes: all.length };
  }

  /** Disconnects. The `remove` of the stage kills the other processes. */
  async close() {
    this.child.stdin.end();
    const limit = setTimeout(() => this.child.kill('SIGKILL'), exitMs);
    await this.exited.finally(() => clearTimeout(limit));
  }

  #receive(chunk) {
    const at = performance.now();
    let from = 0;
    for (;;) {
      const end = chunk.indexOf(10, from);
      if (end < 0) break;
      this.#rest.push(chunk.subarray(from, end));
      this.#settle(Buffer.concat(this.#rest), at);
      this.#rest = [];
      from = end + 1;
    }
    if (from < chunk.length) this.#rest.push(chunk.subarray(from));
  }

  /** Ignores a line that is not a message. */
  #settle(line, at) {
    const [, id] = /"id":(\d+)/.exec(endsOf(line)) ?? [];
    this.#waiting.get(Number(id))?.resolve({ line, at });
    this.#waiting.delete(Number(id));
  }
}

/** The start and the end of a line: an answer has its id in one of them. */
function endsOf(line) {
  const text = `${line.subarray(0, 100)}${line.subarray(-100)}`;
  return text.startsWith('{') ? text : '';
}

function dataOf(text) {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function memoryIfThere(pid) {
  try {
    return memoryOf(pid);
  } catch {
    return { now: 0, peak: 0 };
  }
}
