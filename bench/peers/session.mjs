/** A server of any maker over stdio, and everything that it starts. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { memoryOf, processesOf } from '../processes.mjs';
import { cleanEnvironment } from '../support.mjs';

/** Who has not answered after so long is taken for hanging. */
const answerMs = 30_000;
const goodbyeMs = 2000;

export class Session {
  #next = 0;
  #waiting = new Map();
  #rest = [];

  /** @param stage of `setStage`: where it runs, and the programs it finds */
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
    // It may not even start.
    this.exited = once(this.child, 'exit').then(end, end);
    this.child.stdin.on('error', () => undefined);
    this.child.stdout.on('data', (chunk) => this.#receive(chunk));
  }

  /** @returns the result, and when its last byte had arrived */
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

  /** The answer of a tool as text and, where it is JSON, as data. */
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

  /** Megabytes of the server and of what it has started and left running. */
  memory() {
    const all = processesOf(this.base).map(memoryIfThere);
    const sum = (what) => all.reduce((total, one) => total + one[what], 0);
    return { now: sum('now'), peak: sum('peak'), processes: all.length };
  }

  /** Says goodbye. What else it has started is the stage's to end. */
  async close() {
    this.child.stdin.end();
    const limit = setTimeout(() => this.child.kill('SIGKILL'), goodbyeMs);
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

  /** A line that is no message is the server's own fault, and passed over. */
  #settle(line, at) {
    const [, id] = /"id":(\d+)/.exec(endsOf(line)) ?? [];
    this.#waiting.get(Number(id))?.resolve({ line, at });
    this.#waiting.delete(Number(id));
  }
}

/** An id stands at one of both ends of an answer, however long that is. */
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
