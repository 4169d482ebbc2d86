import { processEntry } from '../../adapters/child-process/process-table.ts';

const lookMs = 2000;

/**
 * Watches the program that started this process, and the one above it: a
 * client starts its hooks through a shell, which may outlive the client.
 * @returns a function that is true once one of them has ended
 */
export function watchParents(): () => boolean {
  const parent = process.ppid;
  const above = parentOf(parent);
  let lookedAt = performance.now();
  return () => {
    if (process.ppid !== parent) return true;
    // Without /proc, each look runs `ps`.
    if (performance.now() - lookedAt < lookMs) return false;
    lookedAt = performance.now();
    return parentOf(parent) !== above;
  };
}

/** Undefined if it cannot be read. */
function parentOf(pid: number): number | undefined {
  try {
    return processEntry(pid)?.parent;
  } catch {
    return undefined;
  }
}
