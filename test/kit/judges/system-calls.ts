import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { locate } from '../../../src/adapters/child-process/locate.ts';
import { type McpClient, startServer } from '../servers/mcp-client.ts';
import { needing } from '../workspaces/needs.ts';
import type { TempWorkspace } from '../workspaces/temp-workspace.ts';

/** `test`, where the system calls of a process can be counted. */
export const testTraced = needing(
  'strace',
  process.platform === 'linux' && locate('strace') !== undefined
);

/** What a server's process did, with all its threads; no process below it. */
export interface SystemCalls {
  /** Paths of all successful opens, in order. */
  opens: string[];
  /** Processes it started. */
  starts: number;
  syncs: number;
}

/** A server whose system calls are written down. */
export interface TracedServer {
  server: McpClient;
  /** What it does while something is awaited. */
  during: (work: () => Promise<unknown>) => Promise<SystemCalls>;
}

export async function startTraced(
  workspace: TempWorkspace,
  flags: string[]
): Promise<TracedServer> {
  const file = join(workspace.path, '..', 'system-calls');
  const calls = 'open,openat,fsync,fdatasync,clone,clone3,fork,vfork';
  // With the filter, all other calls are as fast as usual.
  const options = ['-f', '--seccomp-bpf', '-qq', '-ttt', '-o', file];
  const under = ['strace', ...options, '-e', calls];
  const server = await startServer(workspace, { flags, under });
  return {
    server,
    during: async (work) => {
      const from = Date.now();
      await work();
      return callsIn(
        readFileSync(file, 'utf8'),
        from / 1000,
        Date.now() / 1000
      );
    }
  };
}

/** Seconds since 1970, with fractions. */
function callsIn(trace: string, from: number, until: number): SystemCalls {
  const calls: SystemCalls = { opens: [], starts: 0, syncs: 0 };
  /** The process and its threads. */
  const own = new Set<string>();
  const unfinished = new Map<string, string>();
  for (const line of trace.split('\n')) {
    const [, id = '', at = '', text = ''] =
      /^(\d+) +([\d.]+) (.*)$/.exec(line) ?? [];
    if (own.size === 0) own.add(id);
    if (text.endsWith('<unfinished ...>')) {
      unfinished.set(id, text);
      continue;
    }
    const call = text.startsWith('<...')
      ? `${unfinished.get(id)}${text}`
      : text;
    const [, name = '', result = ''] =
      /^(\w+)\(.* = (\d+)(?:<.*>)?$/.exec(call) ?? [];
    if (!own.has(id) || result === '') continue;
    if (call.includes('CLONE_THREAD')) {
      own.add(result);
      continue;
    }
    if (Number(at) < from || Number(at) > until) continue;
    if (name.startsWith('open'))
      calls.opens.push(/"(.*?)"/.exec(call)?.[1] ?? '');
    else if (name.endsWith('sync')) calls.syncs += 1;
    else calls.starts += 1;
  }
  return calls;
}
