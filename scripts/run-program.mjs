import { spawn } from 'node:child_process';

/**
 * Runs a program in its own process group, and ends the group at the limit or
 * when the signal aborts.
 * @param options cwd, env; limitMs; signal; graceMs: how long the program may
 *   take to end; shown: the output goes to the terminal and is not returned
 * @returns the exit code or the name of the signal as `status`; the output;
 *   `stopped` is "late" or "aborted" when this function ended the program
 */
export function runProgram(command, args, options) {
  const { cwd, env = process.env, limitMs, signal } = options;
  const { graceMs = 5000, shown = false } = options;
  return new Promise((resolve, reject) => {
    const output = { stdout: '', stderr: '' };
    if (signal?.aborted) {
      resolve({ status: null, stopped: 'aborted', ...output });
      return;
    }
    let stopped;
    const out = shown ? 'inherit' : 'pipe';
    const child = spawn(command, args, {
      cwd,
      env,
      stdio: ['ignore', out, out],
      detached: true
    });
    let killTimer;
    const stop = (why) => {
      if (stopped) return;
      stopped = why;
      killGroup(child, 'SIGTERM');
      killTimer = setTimeout(() => {
        killGroup(child, 'SIGKILL');
        // A process that has left the group may keep the streams open.
        for (const name of Object.keys(output)) child[name]?.destroy();
      }, graceMs);
    };
    const timer = setTimeout(() => stop('late'), limitMs);
    const onAbort = () => stop('aborted');
    signal?.addEventListener('abort', onAbort);
    const finish = () => {
      clearTimeout(timer);
      clearTimeout(killTimer);
      signal?.removeEventListener('abort', onAbort);
      if (stopped) killGroup(child, 'SIGKILL');
    };
    for (const name of Object.keys(output))
      child[name]?.setEncoding('utf8').on('data', (text) => {
        output[name] += text;
      });
    child.once('error', (error) => {
      finish();
      reject(error);
    });
    child.once('close', (code, killedBy) => {
      finish();
      resolve({ status: code ?? killedBy, stopped, ...output });
    });
  });
}

function killGroup({ pid }, signal) {
  try {
    if (pid !== undefined) process.kill(-pid, signal);
  } catch {
    // The group has already exited.
  }
}
