/** Starts a server with probe.cjs and reads its samples. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { startServer } from './support.mjs';

/**
 * Disables the compilers of V8. Their code is created and discarded for as
 * long as a server runs, and would hide in the heap what the server keeps.
 */
const noMachineCode = ['--no-opt', '--no-sparkplug', '--no-maglev'];

/**
 * @param collects collects garbage before each sample and disables the
 *   compilers, for samples of the heap
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
  /** Takes a sample. Delays of the event loop are since the last sample. */
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
