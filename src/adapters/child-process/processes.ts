import { spawn } from 'node:child_process';
import { join } from 'node:path';
import type { Processes } from '../../core/runs/ports.ts';
import { isSameProcess, type ProcessIdentity } from '../../core/runs/run.ts';
import { ancestorsOf } from './ancestors.ts';
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
    ancestors: () => ancestorsOf(),
    launch: (request) => supervise(request, programs),
    stop: isWindows ? killWindowsTree : (target) => killTree(target),
    stopAlone: (directory) => {
      // There, what was asked to end is gone by then.
      if (!isWindows) startReaper(join(programs, 'reaper.cjs'), directory);
    }
  };
}

function startReaper(reaper: string, directory: string): void {
  const child = spawn(process.execPath, [reaper, directory, 'canceled'], {
    detached: true,
    stdio: 'ignore'
  });
  child.on('error', () => undefined);
  child.unref();
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
  if (self.start !== '' && isSameProcess(identity, self)) return 'alive';
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
