/** Looks inside of a server that was started with probe.cjs. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { startServer } from './support.mjs';

/**
 * Machine code is made, and thrown away, for as long as a server runs, and
 * lies in the heap: without it, what is seen there is what a server keeps.
 */
const noMachineCode = ['--no-opt', '--no-sparkplug', '--no-maglev'];

/**
 * @param collects whether the heap is looked at: without garbage, and without
 *   machine code
 */
export async function startProbed(options, workspace, collects = false) {
  const file = join(workspace.base, 'probe.jsonl');
  workspace.env = {
    ...workspace.env,
    TROUPE_PROBE: file,
    TROUPE_PROBE_GC: collects ? '1' : '0'
  };
  const probe = join(import.meta.dirname, 'probe.cjs');
  const nodeFlags = [...(collects ? noMachineCode : []), '--require', probe];
  const server = await startServer({ ...options, nodeFlags }, workspace);
  let looks = 0;
  /** What it sees of itself, since the look before where that matters. */
  const look = async () => {
    looks += 1;
    process.kill(server.pid, 'SIGUSR2');
    for (;;) {
      await delay(20);
      const lines = textOf(file).split('\n').slice(0, -1);
      if (lines.length >= looks) return JSON.parse(lines.at(-1));
    }
  };
  return { server, look };
}

function textOf(path) {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}
