import { spawn } from 'node:child_process';

/**
 * Runs a program in a process group of its own. When its time is up, or the
 * signal aborts, the group is ended.
 * @param options cwd, env; limitMs; signal; graceMs: how long it may take to
 *   end; shown: what it writes goes to the terminal, not into the answer
 * @returns exit code or name of the signal; what it wrote; `stopped` is
 *   "late" or "aborted" when we ended it
 */
export function runProgram(command, args, options) {
  const { cwd, env = process.env, limitMs, signal } = options;
  const { graceMs = 5000, shown = false } = options;
  return new Promise((resolve, reject) => {
    const said = { stdout: '', stderr: '' };
    if (signal?.aborted) {
      resolve({ status: null, stopped: 'aborted', ...said });
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
    let lastWord;
    const stop = (why) => {
      if (stopped) return;
      stopped = why;
      killGroup(child, 'SIGTERM');
      lastWord = setTimeout(() => {
        killGroup(child, 'SIGKILL');
        // Who left the group may hold them open.
        for (const name of Object.keys(said)) child[name]?.destroy();
      }, graceMs);
    };
    const timer = setTimeout(() => stop('late'), limitMs);
    const onAbort = () => stop('aborted');
    signal?.addEventListener('abort', onAbort);
    const finish = () => {
      clearTimeout(timer);
      clearTimeout(lastWord);
      signal?.removeEventListener('abort', onAbort);
      if (stopped) killGroup(child, 'SIGKILL');
    };
    for (const name of Object.keys(said))
      child[name]?.setEncoding('utf8').on('data', (text) => {
        said[name] += text;
      });
    child.once('error', (error) => {
      finish();
      reject(error);
    });
    child.once('close', (code, killedBy) => {
      finish();
      resolve({ status: code ?? killedBy, stopped, ...said });
    });
  });
}

function killGroup({ pid }, signal) {
  try {
    if (pid !== undefined) process.kill(-pid, signal);
  } catch {
    // Nothing of it is left.
  }
}
