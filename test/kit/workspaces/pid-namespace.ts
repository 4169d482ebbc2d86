import { execFileSync, spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { locate } from '../../../src/adapters/child-process/locate.ts';
import { until } from '../judges/until.ts';
import { needing } from './needs.ts';

/** A process namespace of its own, with numbers that can be chosen. */
export interface PidNamespace {
  /** Runs a program in it, which ends when this command is killed. */
  under: string[];
  /** Runs a shell script in it; what it says. */
  run: (script: string, ...args: string[]) => string;
  /** Lets a process that has nothing to do with anything have this number. */
  occupy: (pid: number) => void;
  /** The letter that `ps` shows, `Z` of a zombie; undefined without process. */
  stateOf: (pid: number) => string | undefined;
  /** Kills by its number in here, not to be met again. */
  killGroup: (session: number) => void;
  close: () => void;
}

/** `test`, where we may have process numbers of our own: root on Linux. */
export const testInNamespace = needing(
  'right to make a process namespace',
  canMakeNamespace()
);

/**
 * @param reaps whether its first process reaps orphans, as an init does and
 * that of many containers does not
 */
export async function createPidNamespace(
  reaps: boolean
): Promise<PidNamespace> {
  const first = reaps ? 'sleep 1000 & wait' : 'exec sleep 1000';
  const words = ['-pf', '--mount-proc', '--kill-child', 'bash', '-c', first];
  const holder = spawn('unshare', words, { stdio: 'ignore' });
  const init = await until('the first process', () => {
    const children = `/proc/${holder.pid}/task/${holder.pid}/children`;
    const [pid = ''] = readFileSync(children, 'utf8').split(' ');
    // Its /proc is there when its program is.
    const name = pid && readFileSync(`/proc/${pid}/comm`, 'utf8').trim();
    return name === (reaps ? 'bash' : 'sleep') ? pid : undefined;
  });
  const enter = ['nsenter', '-t', init, '-p', '-m', '--'];
  const under = [...enter, 'setpriv', '--pdeathsig', 'KILL'];
  const run = (script: string, ...args: string[]) => {
    const [command = '', ...rest] = [...enter, 'sh', '-c', script, 'sh'];
    return execFileSync(command, [...rest, ...args], { encoding: 'utf8' });
  };
  const stateOf = (pid: number) =>
    run(
      'sed "s/.*) //;s/ .*//" "/proc/$1/stat" 2>/dev/null || :',
      `${pid}`
    ).trim() || undefined;
  return {
    under,
    run,
    stateOf,
    occupy: (pid) => {
      // Again, when another process in it started one in between.
      const script = `for try in 1 2 3 4 5 6 7 8 9 10; do
          echo "$(($1 - 1))" >/proc/sys/kernel/ns_last_pid
          sleep 1000 >/dev/null 2>&1 &
          [ $! -eq "$1" ] && exit; kill $!; wait $!; sleep 0.1
        done; ps -ef`;
      const left = run(script, String(pid));
      if (left) throw new Error(`It has not got ${pid}:\n${left}`);
    },
    killGroup: (session) => {
      run('pkill -KILL -s "$1" || :', String(session));
    },
    close: () => {
      holder.kill('SIGKILL');
    }
  };
}

export function canMakeNamespace(): boolean {
  if (['unshare', 'nsenter', 'setpriv', 'bash'].some((name) => !locate(name)))
    return false;
  try {
    execFileSync('unshare', ['-pf', '--mount-proc', 'true'], {
      stdio: 'ignore'
    });
    return true;
  } catch {
    return false;
  }
}
