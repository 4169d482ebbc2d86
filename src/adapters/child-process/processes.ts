import { join } from 'node:path';
import type { Processes } from '../../core/runs/ports.ts';
import type { ProcessIdentity } from '../../core/runs/run.ts';
import { killTree } from './kill-tree.ts';
import { locate } from './locate.ts';
import { processEntry, thisProcess } from './process-table.ts';
import { supervise } from './supervise.ts';
import { isWindows, killWindowsTree } from './windows.ts';

/**
 * The machine's processes behind the core's port.
 * @param programs the folder of the reaper, the API agent and the Windows
 *   supervisor
 */
export function createProcesses(programs: string): Processes {
  const self = thisProcess();
  return {
    self,
    apiAgent: {
      command: process.execPath,
      args: [join(programs, 'api-agent.js')]
    },
    locate: (command) => locate(command),
    liveness: (identity) => liveness(identity, self),
    launch: (request) => supervise(request, programs),
    stop: isWindows ? killWindowsTree : (target) => killTree(target)
  };
}

/** Who we are, and whether others live: all that a lock takes. */
export function thisWitness(): Pick<Processes, 'self' | 'liveness'> {
  const self = thisProcess();
  return { self, liveness: (identity) => liveness(identity, self) };
}

function liveness(
  identity: ProcessIdentity,
  self: ProcessIdentity
): 'alive' | 'dead' | 'unknown' {
  if (identity.place !== self.place)
    return sameMachine(identity, self) ? 'dead' : 'unknown';
  try {
    const entry = processEntry(identity.pid);
    if (!entry || entry.zombie) return 'dead';
    if (entry.start === identity.start) return 'alive';
    // Who could not learn when it started may be any of that number.
    return identity.start === '' ? 'unknown' : 'dead';
  } catch {
    return 'unknown';
  }
}

/** Same host but another boot: the process ended with that boot. */
function sameMachine(a: ProcessIdentity, b: ProcessIdentity): boolean {
  const [hostA, bootA, spaceA] = a.place.split(' ');
  const [hostB, bootB, spaceB] = b.place.split(' ');
  return hostA === hostB && spaceA === spaceB && bootA !== bootB;
}
