/** Shared by the benches: the runner, a workspace, a client of the server. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  realpathSync,
  rmSync,
  watch,
  writeFileSync
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { rolldown } from 'rolldown';
import { benchOptions } from './options.mjs';
import { cpuMsOf, memoryOf } from './processes.mjs';
import { refusedIn, tableOf } from './statistics.mjs';

const { pathsOf } = await loadPaths();

/** The paths of the core, bundled from source. */
async function loadPaths() {
  const input = join(import.meta.dirname, '../src/core/paths/paths.ts');
  const build = await rolldown({ input, platform: 'node' });
  const { output } = await build.generate({ format: 'esm' });
  await build.close();
  return import(`data:text/javascript,${encodeURIComponent(output[0].code)}`);
}

/**
 * Runs one bench and prints its reports, as tables or as JSON for run.mjs.
 * @param measure returns one report or several
 * @param more additional options, in the form of `parseArgs`
 */
export async function runBench(defaultRuns, measure, more = {}) {
  const options = benchOptions(defaultRuns, more);
  const reports = [await measure(options)].flat();
  const text = options.json ? JSON.stringify(reports) : reports.map(tableOf);
  console.log([text].flat().join('\n'));
  const refused = reports.flatMap(refusedIn);
  if (!options.check || refused.length === 0) return;
  console.error(['refused:', ...refused].join('\n'));
  process.exitCode = 1;
}

/** An empty workspace, its HOME and its record, removed by `remove`. */
export function createWorkspace() {
  const base = realpathSync(mkdtempSync(join(tmpdir(), 'troupe-bench-')));
  const path = join(base, 'workspace');
  const home = join(base, 'home');
  for (const directory of [path, home]) mkdirSync(directory);
  return {
    base,
    path,
    home,
    record: pathsOf(path, join(home, '.troupe')).record,
    env: { TROUPE_MAX_SPAWNS_PER_MINUTE: '100000' },
    /** Writes a file next to the workspace; `mode` 0o755 makes a program. */
    file: (name, text, mode = 0o644) => {
      const file = join(base, name);
      writeFileSync(file, text);
      chmodSync(file, mode);
      return file;
    },
    /** Makes the server of this workspace offer these plugins only. */
    offer: (...plugins) =>
      writeFileSync(
        join(path, '.trouperc.json'),
        JSON.stringify({ plugins, toolsets: ['spawn', 'runs'] })
      ),
    remove: () => rmSync(base, { recursive: true, force: true, maxRetries: 5 })
  };
}

/** A CLI that reads its prompt, prints one JSON line and exits. */
export function writeStandIn(workspace, name = 'standin') {
  const program = workspace.file(
    name,
    `#!/bin/sh\necho '{"type":"done","text":"ok"}'\n`,
    0o755
  );
  const plugin = workspace.file(
    `${name}.mjs`,
    `export default {
  kind: 'cli',
  name: '${name}',
  description: 'A stand-in that exits at once.',
  command: ${JSON.stringify(program)},
  args: () => [],
  read: (reply, event) => event.type === 'done'
    ? { ...reply, text: event.text, finished: true }
    : reply
};
`
  );
  workspace.offer(plugin);
  return program;
}

/** The environment of a server, without variables of this session. */
export function cleanEnvironment(workspace) {
  return {
    PATH: process.env.PATH,
    HOME: workspace.home,
    // The plugins of a bench need no consent of the user.
    TROUPE_TRUST: '1',
    ...workspace.env
  };
}

/** A client of the server over stdio. Times are of the arrival of bytes. */
export class Client {
  #next = 0;
  #waiting = new Map();
  #rest = '';

  constructor(options, workspace, flags = []) {
    this.startedAt = performance.now();
    const { node, nodeFlags = [], troupe, stderr = 'ignore' } = options;
    this.child = spawn(node, [...nodeFlags, troupe, 'mcp', ...flags], {
      cwd: workspace.path,
      env: cleanEnvironment(workspace),
      stdio: ['pipe', 'pipe', stderr]
    });
    this.pid = this.child.pid;
    this.exited = once(this.child, 'exit').then(() => {
      for (const { reject } of this.#waiting.values())
        reject(new Error('the server ended'));
    });
    this.child.stdin.on('error', () => undefined);
    this.child.stdout.setEncoding('utf8');
    this.child.stdout.on('data', (chunk) => this.#receive(chunk));
  }

  /** Sends a request without waiting for its answer. Returns its id. */
  start(method, params = {}) {
    this.#next += 1;
    this.send({ jsonrpc: '2.0', id: this.#next, method, params });
    return this.#next;
  }

  /** The result of one request; `at` is the time of its arrival. */
  async request(method, params = {}) {
    const { promise, ...settle } = deferred();
    this.#waiting.set(this.start(method, params), settle);
    const { message, at } = await promise;
    if (message.error) throw new Error(JSON.stringify(message.error));
    return { result: message.result, at };
  }

  /** The structured answer of a tool, and the milliseconds until it arrived. */
  async call(name, args = {}) {
    const from = performance.now();
    const { result, at } = await this.request('tools/call', {
      name,
      arguments: args
    });
    if (result.isError) throw new Error(result.content[0].text);
    return { data: result.structuredContent, ms: at - from };
  }

  async initialize() {
    const answer = await this.request('initialize', {
      protocolVersion: '2025-11-25',
      capabilities: {},
      clientInfo: { name: 'troupe-bench', version: '1' }
    });
    this.send({ jsonrpc: '2.0', method: 'notifications/initialized' });
    return answer.at - this.startedAt;
  }

  send(message) {
    this.child.stdin.write(`${JSON.stringify(message)}\n`);
  }

  memory() {
    return memoryOf(this.pid);
  }

  cpuMs() {
    return cpuMsOf(this.pid);
  }

  close() {
    this.child.stdin.end();
    return this.exited;
  }

  #receive(chunk) {
    const at = performance.now();
    const lines = (this.#rest + chunk).split('\n');
    this.#rest = lines.pop();
    for (const line of lines) {
      const message = JSON.parse(line);
      this.#waiting.get(message.id)?.resolve({ message, at });
      this.#waiting.delete(message.id);
    }
  }
}

export async function startServer(options, workspace, flags) {
  const client = new Client(options, workspace, flags);
  await client.initialize();
  return client;
}

/**
 * Calls `done` on each change in a folder until it returns true, and returns
 * the time of that call.
 */
export async function until(folder, done, timeoutMs = 20_000) {
  const { promise, resolve, reject } = deferred();
  const check = () => done() && resolve(performance.now());
  const watcher = watch(folder, check);
  // `watch` may miss a change, so polls as well.
  const timer = setInterval(check, 50);
  const limit = setTimeout(
    () => reject(new Error(`nothing happened in ${folder}`)),
    timeoutMs
  );
  check();
  try {
    return await promise;
  } finally {
    watcher.close();
    clearInterval(timer);
    clearTimeout(limit);
  }
}

/** Milliseconds until a child process has exited. */
export async function timeChild(command, args, options) {
  const from = performance.now();
  const child = spawn(command, args, options);
  child.stdout?.resume();
  await once(child, 'exit');
  return performance.now() - from;
}

function deferred() {
  let resolve;
  let reject;
  const promise = new Promise((...both) => {
    [resolve, reject] = both;
  });
  return { promise, resolve, reject };
}
