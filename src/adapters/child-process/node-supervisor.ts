/**
 * The supervisor for systems without a POSIX shell (Windows; untested there).
 * It writes the same files by the same rules as supervisor-script.ts, but
 * costs one Node process for each agent.
 *
 * `node supervisor.cjs <folder> <wall> <idle> <limit> <keep|stop> <ask> CMD ARGS…`
 */
import { statSync } from 'node:fs';
import { Socket } from 'node:net';
import { basename, join } from 'node:path';
import spawn from 'cross-spawn';
import { openAsksIn } from '../../core/asks/ask-files.ts';
import { notClaimed } from '../../core/runs/run.ts';
import { hasExited, type StopReason } from '../../core/runs/run-files.ts';
import { touchAlive } from '../../core/runs/sign-of-life.ts';
import { createOnce } from '../../core/state/files/atomic-file.ts';
import {
  appendTo,
  openToAppend,
  overwriteStart
} from '../../core/state/files/own-file.ts';
import { awakeMs } from '../../core/timing.ts';
import { thisProcess } from './process-table.ts';
import { killWindowsTree } from './windows.ts';

const [directory = '', wall, idle, limit, mode, asks, command = '', ...args] =
  process.argv.slice(2);
const file = (name: string) => join(directory, name);
const self = thisProcess();

if (claim()) supervise();

/** False if another process declared that the run never starts. */
function claim(): boolean {
  try {
    const text = `${self.pid} ${self.start}\n`;
    return createOnce(file('claim'), text, false);
  } catch {
    process.exit(notClaimed);
  }
}

function supervise(): void {
  const child = spawn(command, args, {
    stdio: [0, openToAppend(file('stdout')), openToAppend(file('stderr'))],
    windowsHide: true
  });
  appendTo(file('claim'), `${child.pid ?? ''}\n`);
  child.once('error', (error) => {
    appendTo(file('stderr'), `troupe: ${error.message}\n`);
    end(127);
  });
  child.once('exit', (code, signal) => end(code ?? (signal ? 137 : 1)));
  watch();
}

function watch(): void {
  let quietSince = awakeMs();
  let seen = -1;
  const seconds = (text: string | undefined) => Number(text) || 0;
  let [ranMs, checkedAt] = [0, awakeMs()];
  setInterval(() => {
    const now = awakeMs();
    const passedMs = now - checkedAt;
    checkedAt = now;
    const isAsking =
      seconds(asks) > 0 &&
      openAsksIn(directory, basename(directory)).length > 0;
    if (isAsking) quietSince += passedMs;
    else ranMs += passedMs;
    if (seconds(wall) > 0 && ranMs >= 1000 * seconds(wall)) stop('timeout');
    const size = statSync(file('stdout')).size + statSync(file('stderr')).size;
    if (size !== seen) quietSince = now;
    seen = size;
    if (seconds(limit) > 0 && size > seconds(limit)) stop('output_limit');
    const quietMs = now - quietSince;
    if (seconds(idle) > 0 && quietMs > 1000 * seconds(idle))
      stop('idle_timeout');
  }, 1000);
  setInterval(() => touchAlive(directory), 15_000);
  if (mode !== 'stop') return;
  const server = new Socket({ fd: 3 });
  server.on('close', () => stop('disconnect')).on('error', () => undefined);
  server.resume();
}

let stopping = false;

function stop(why: StopReason): void {
  if (stopping || hasExited(directory)) return;
  stopping = true;
  void killWindowsTree({ directory, place: self.place, request: { why } });
}

function end(code: number): void {
  overwriteStart(file('exit'), `${code}\n`);
  process.exit(0);
}
