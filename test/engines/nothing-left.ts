import { chmodSync, mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  processEnvironments,
  processTable
} from '../../src/adapters/child-process/process-table.ts';
import { until } from '../kit/judges/until.ts';

/** For programs that the last test has asked to end. */
const patienceMs = 10_000;

/**
 * Runs around all tests of the real CLIs: not one process that a test has
 * started may be there afterwards. All of them live in workspaces below one
 * folder, which their environment names.
 */
export function setup(): () => Promise<void> {
  const usual = process.env.TMPDIR;
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'troupe-run-')));
  // Some tests work as another user.
  chmodSync(folder, 0o755);
  process.env.TMPDIR = folder;
  return async () => {
    if (usual === undefined) delete process.env.TMPDIR;
    else process.env.TMPDIR = usual;
    const gone = () => processesIn(folder).length === 0 || undefined;
    await until('the end of all processes', gone, patienceMs).catch(() => {
      const left = processesIn(folder).join(', ');
      // An error that is thrown here is printed and does not fail the run.
      process.exitCode = 1;
      throw new Error(`The tests left processes: ${left}`);
    });
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
  };
}

function processesIn(folder: string): number[] {
  const pids = processTable()
    .filter((entry) => !entry.zombie)
    .map((entry) => entry.pid)
    .filter((pid) => pid !== process.pid);
  return [...processEnvironments(pids)]
    .filter(([, text]) => text.includes(`=${folder}/`))
    .map(([pid]) => pid);
}
