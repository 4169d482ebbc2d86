import { spawn } from 'node:child_process';
import { closeSync, existsSync, openSync } from 'node:fs';
import { join } from 'node:path';
import type { Launched, LaunchRequest } from '../../core/runs/ports.ts';
import { supervisorScript } from './supervisor-script.ts';

/**
 * Starts an agent under its supervisor, in a session of its own, with its
 * folder's files as stdin, stdout and stderr. Nothing of it depends on us.
 */
export function supervise(request: LaunchRequest, reaper: string): Launched {
  const file = (name: string) => join(request.directory, name);
  const descriptors = [
    openSync(
      existsSync(file('stdin')) ? file('stdin') : file('prompt.txt'),
      'r'
    ),
    openSync(file('stdout'), 'a', 0o600),
    openSync(file('stderr'), 'a', 0o600)
  ];
  try {
    const child = spawn('/bin/sh', supervisorArguments(request, reaper), {
      cwd: request.cwd,
      env: request.environment,
      detached: true,
      stdio: [...descriptors, ...(request.stopWithUs ? ['pipe' as const] : [])]
    });
    child.unref();
    const alarm = child.stdio[3];
    if (alarm) {
      alarm.on('error', () => undefined);
      if ('unref' in alarm && typeof alarm.unref === 'function') alarm.unref();
    }
    return {
      ended: new Promise((resolve, reject) => {
        child.once('exit', () => resolve());
        child.once('error', reject);
      })
    };
  } finally {
    for (const descriptor of descriptors) closeSync(descriptor);
  }
}

export function supervisorArguments(
  request: LaunchRequest,
  reaper: string
): string[] {
  return [
    '-c',
    supervisorScript,
    'troupe-supervisor',
    request.directory,
    String(Math.ceil(request.timeoutSeconds)),
    String(Math.ceil(request.idleTimeoutSeconds)),
    String(request.outputLimitBytes),
    request.stopWithUs ? 'stop' : 'keep',
    process.umask().toString(8).padStart(3, '0'),
    process.execPath,
    reaper,
    request.command,
    ...request.args
  ];
}
