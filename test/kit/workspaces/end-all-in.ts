import { readdirSync, readFileSync, readlinkSync, rmSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';

// Loaded before each test file, which may replace modules: imports none of ours.

/**
 * Kills every process that has this directory in its environment, its command
 * line or as its working directory, and removes the directory. Without /proc
 * only the latter.
 */
export async function endAllIn(directory: string): Promise<void> {
  for (let tries = 0; tries < 1000; tries += 1) {
    const left = processesIn(directory);
    if (left.length === 0) break;
    for (const pid of left) kill(pid);
    await delay(10);
  }
  rmSync(directory, { recursive: true, force: true, maxRetries: 5 });
}

/** Processes that are at work in the directory, ours aside. */
export function processesIn(directory: string): number[] {
  return namesIn('/proc')
    .map(Number)
    .filter((pid) => pid > 0 && pid !== process.pid)
    .filter((pid) =>
      [
        () => readFileSync(`/proc/${pid}/environ`, 'utf8'),
        () => readFileSync(`/proc/${pid}/cmdline`, 'utf8'),
        () => readlinkSync(`/proc/${pid}/cwd`)
      ].some((look) => seen(look).includes(directory))
    );
}

function namesIn(directory: string): string[] {
  try {
    return readdirSync(directory);
  } catch {
    return [];
  }
}

/** Empty for a process that has ended, or is another user's. */
function seen(look: () => string): string {
  try {
    return look();
  } catch {
    return '';
  }
}

function kill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // It has just ended.
  }
}
