import { spawn } from 'node:child_process';
import { closeSync, existsSync, openSync } from 'node:fs';
import { join } from 'node:path';
import type { Launched, LaunchRequest } from '../../core/runs/ports.ts';
import { openToAppend } from '../../core/state/own-file.ts';
import { expectDescriptorRoom } from './descriptor-room.ts';
import { supervisorScript } from './supervisor-script.ts';
import { isWindows } from './windows.ts';

/**
 * Starts an agent under its supervisor, in a session of its own, with its
 * folder's files as stdin, stdout and stderr. Nothing of it depends on us.
 */
export function supervise(request: LaunchRequest, programs: string): Launched {
  const [program, args] = supervisorCommand(request, programs);
  const file = (name: string) => join(request.directory, name);
  // One after the other: the next may not be had any more.
  const descriptors: number[] = [];
  try {
    descriptors.push(
      openSync(
        existsSync(file('stdin')) ? file('stdin') : file('prompt.txt'),
        'r'
      )
    );
    for (const name of ['stdout', 'stderr'])
      descriptors.push(openToAppend(file(name)));
    if (request.stopWithUs) expectDescriptorRoom(1);
    const child = spawn(program, args, {
      cwd: request.cwd,
      env: request.environment,
      detached: true,
      windowsHide: true,
      stdio: [...descriptors, ...(request.stopWithUs ? ['pipe' as const] : [])]
    });
    // First: a system out of descriptors or processes says so right after.
    const ended = new Promise<void>((resolve, reject) => {
      child.once('exit', () => resolve());
      child.once('error', reject);
    });
    child.unref();
    // Whatever the types say: of such a child there is nothing else.
    const alarm = child.stdio?.[3];
    if (alarm) {
      alarm.on('error', () => undefined);
      if ('unref' in alarm && typeof alarm.unref === 'function') alarm.unref();
    }
    return { ended };
  } finally {
    for (const descriptor of descriptors) closeSync(descriptor);
  }
}

function supervisorCommand(
  request: LaunchRequest,
  programs: string
): [program: string, args: string[]] {
  if (!isWindows) {
    const reaper = join(programs, 'reaper.cjs');
    return ['/bin/sh', supervisorArguments(request, reaper)];
  }
  const file = join(programs, 'supervisor.cjs');
  const args = [...limitsOf(request), request.command, ...request.args];
  return [process.execPath, [file, ...args]];
}

export function supervisorArguments(
  request: LaunchRequest,
  reaper: string
): string[] {
  return [
    '-c',
    supervisorScript,
    'troupe-supervisor',
    ...limitsOf(request),
    process.umask().toString(8).padStart(3, '0'),
    process.execPath,
    reaper,
    request.command,
    ...request.args
  ];
}

function limitsOf(request: LaunchRequest): string[] {
  return [
    request.directory,
    String(Math.ceil(request.timeoutSeconds)),
    String(Math.ceil(request.idleTimeoutSeconds)),
    String(request.outputLimitBytes),
    request.stopWithUs ? 'stop' : 'keep'
  ];
}
