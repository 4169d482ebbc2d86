/** Facts about processes, from /proc. */
import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { join } from 'node:path';

/** Resident memory in megabytes, now and at its peak. */
export function memoryOf(pid) {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  const megabytes = (field) =>
    Number(new RegExp(`${field}:\\s+(\\d+) kB`).exec(status)?.[1]) / 1024;
  return { now: megabytes('VmRSS'), peak: megabytes('VmHWM') };
}

/** Memory in megabytes that a process shares with no other one. */
export function privateMegabytes(pid) {
  const text = readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8');
  const kilobytes = [...text.matchAll(/^Private_(?:Clean|Dirty):\s+(\d+)/gm)];
  return kilobytes.reduce((sum, [, count]) => sum + Number(count), 0) / 1024;
}

/** Milliseconds of processor time so far, summed over all threads. */
export function cpuMsOf(pid) {
  const tasks = `/proc/${pid}/task`;
  return readdirSync(tasks)
    .map((task) => readFileSync(join(tasks, task, 'schedstat'), 'utf8'))
    .reduce((sum, text) => sum + Number(text.split(' ')[0]) / 1e6, 0);
}

/**
 * Ids of the processes that have a folder in their working directory or their
 * command line; with `parent`, only its children.
 */
export function processesOf(folder, parent) {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid)
    .filter((pid) => {
      const [cwd, command] = [
        readFrom(() => readlinkSync(`/proc/${pid}/cwd`)),
        readFrom(() => readFileSync(`/proc/${pid}/cmdline`, 'utf8'))
      ];
      const isChild = parent === undefined || parentOf(pid) === parent;
      return isChild && `${cwd}\0${command}`.includes(folder);
    })
    .map(Number);
}

function parentOf(pid) {
  const stat = readFrom(() => readFileSync(`/proc/${pid}/stat`, 'utf8'));
  return Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1]);
}

/** '' for a process that has ended or that belongs to another user. */
function readFrom(read) {
  try {
    return read();
  } catch {
    return '';
  }
}
