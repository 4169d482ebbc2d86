import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync, mkdirSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import type { TempWorkspace } from '../workspaces/temp-workspace.ts';

const troupe = join(import.meta.dirname, '../../../dist/troupe.cjs');

export interface ServerOptions {
  flags?: string[];
  env?: Record<string, string>;
  clientName?: string;
  cwd?: string;
  /** A command that runs the server: its words, in front of Node's. */
  under?: string[];
  /** Skip the initialize handshake. */
  raw?: boolean;
}

export interface ToolResult {
  isError: boolean;
  /** structuredContent. */
  data: Record<string, unknown>;
  text: string;
}

/** A client of the built server over real stdio, checking every line. */
export class McpClient {
  readonly child: ChildProcess;
  /** Lines on stdout that are not JSON-RPC: must stay empty. */
  readonly impurities: string[] = [];
  readonly notifications: Record<string, unknown>[] = [];
  stderr = '';
  readonly exited: Promise<{ code: number | null; signal: string | null }>;
  #next = 0;
  #closed = false;
  readonly #pending = new Map<number, (message: Message) => void>();

  constructor(child: ChildProcess) {
    this.child = child;
    this.exited = new Promise((resolve) => {
      child.once('exit', (code, signal) => resolve({ code, signal }));
    });
    // What it said before it ended has been read by then.
    child.once('close', () => {
      this.#closed = true;
      for (const answer of this.#pending.values()) answer(ended);
    });
    child.stderr?.on('data', (chunk) => {
      this.stderr += String(chunk);
    });
    child.stdin?.on('error', () => undefined);
    if (child.stdout)
      createInterface({ input: child.stdout }).on('line', (line) =>
        this.#receive(line)
      );
  }

  get pid(): number {
    return this.child.pid ?? 0;
  }

  /** One request; rejects with the JSON-RPC error. */
  async request(
    method: string,
    params: Record<string, unknown> = {}
  ): Promise<Record<string, unknown>> {
    this.#next += 1;
    const id = this.#next;
    const message = await new Promise<Message>((resolve) => {
      this.#pending.set(id, resolve);
      this.send({ jsonrpc: '2.0', id, method, params });
      if (this.#closed) resolve(ended);
    });
    if (message.error)
      throw new Error(`${message.error.code}: ${message.error.message}`);
    return message.result ?? {};
  }

  /** Calls a tool; an error answer is returned, not thrown. */
  async call(
    name: string,
    args: Record<string, unknown> = {},
    meta?: Record<string, unknown>
  ): Promise<ToolResult> {
    const result = await this.request('tools/call', {
      name,
      arguments: args,
      ...(meta ? { _meta: meta } : {})
    });
    const [content] = result.content as { text: string }[];
    return {
      isError: result.isError === true,
      data: (result.structuredContent ?? {}) as Record<string, unknown>,
      text: content?.text ?? ''
    };
  }

  send(message: Record<string, unknown>): void {
    this.child.stdin?.write(`${JSON.stringify(message)}\n`);
  }

  /** Closes stdin and waits for the server to end. */
  async close() {
    this.child.stdin?.end();
    return this.exited;
  }

  #receive(line: string): void {
    if (/[\u2028\u2029]/.test(line)) this.impurities.push(line);
    let message: Message & { jsonrpc?: string; id?: unknown };
    try {
      message = JSON.parse(line);
    } catch {
      this.impurities.push(line);
      return;
    }
    if (message.jsonrpc !== '2.0') this.impurities.push(line);
    const answer =
      typeof message.id === 'number'
        ? this.#pending.get(message.id)
        : undefined;
    if (answer && typeof message.id === 'number') {
      this.#pending.delete(message.id);
      answer(message);
    } else this.notifications.push({ ...message });
  }
}

interface Message {
  result?: Record<string, unknown>;
  error?: { code: number; message: string };
}

const ended: Message = { error: { code: 0, message: 'the server ended' } };

/**
 * Starts the built server as a client would: stand-ins first on PATH, an
 * empty HOME, nothing else of the caller's environment.
 */
export async function startServer(
  workspace: TempWorkspace,
  options: ServerOptions = {}
): Promise<McpClient> {
  const flags = ['--workspace', workspace.path, ...(options.flags ?? [])];
  const words = [process.execPath, troupe, 'mcp', ...flags];
  const [command = '', ...args] = [...(options.under ?? []), ...words];
  const child = spawn(command, args, {
    cwd: options.cwd ?? workspace.path,
    stdio: ['pipe', 'pipe', 'pipe'],
    env: testEnvironment(workspace, options.env)
  });
  const client = new McpClient(child);
  if (options.raw) return client;
  await client.request('initialize', {
    protocolVersion: '2025-11-25',
    capabilities: {},
    clientInfo: { name: options.clientName ?? 'troupe-test', version: '1' }
  });
  client.send({ jsonrpc: '2.0', method: 'notifications/initialized' });
  return client;
}

const standardFolders = ['/usr/local/bin', '/usr/bin', '/bin'];

/** A folder with Node alone: its own may hold agents, which are not ours. */
function folderOfNode(): string[] {
  if (standardFolders.includes(dirname(process.execPath))) return [];
  const folder = join(tmpdir(), 'node');
  const link = join(folder, 'node');
  mkdirSync(folder, { recursive: true });
  if (!existsSync(link)) symlinkSync(process.execPath, link);
  return [folder];
}

/**
 * PATH with the stand-ins first, an empty HOME, everything trusted, and what a
 * test adds.
 */
export function testEnvironment(
  workspace: TempWorkspace,
  env: Record<string, string> = {}
): Record<string, string> {
  return {
    PATH: [workspace.bin, ...folderOfNode(), ...standardFolders].join(':'),
    HOME: workspace.home,
    LANG: 'C.UTF-8',
    // The directory of temporary files may lie in a repository.
    GIT_CEILING_DIRECTORIES: join(workspace.home, '../..'),
    // Plugins and programs of a test's workspace are its own.
    TROUPE_TRUST: '1',
    ...env
  };
}
