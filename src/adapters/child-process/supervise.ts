import { spawn } from 'node:child_process';
import { closeSync, existsSync, openSync } from 'node:fs';
import { join } from 'node:path';
import type { Writable } from 'node:stream';
import type { Launched, LaunchRequest } from '../../core/runs/ports.ts';
import { notClaimed } from '../../core/runs/run.ts';
import { openToAppend } from '../../core/state/files/own-file.ts';
import { ownTmux } from './agent-tmux.ts';
import { hostedCommand, isHosted } from './api-hosts.ts';
import { expectDescriptorRoom } from './descriptor-room.ts';
import { outputRoute } from './output-route.ts';
import { supervisorScript } from './supervisor-script.ts';
import { isWindows } from './windows.ts';

interface Supervised extends Launched {
  pid: number | undefined;
  /** The socket to an agent with a shared host; null for every other. */
  stdin: Writable | null;
}

/**
 * Starts an agent under its supervisor, in a new session, with the files of
 * its folder as stdin, stdout and stderr. The supervisor outlives this process.
 * An API agent with a shared host has a socket as stdin.
 */
export function supervise(
  request: LaunchRequest,
  programs: string
): Supervised {
  const { stopWithUs } = request;
  const hosted = isHosted(request);
  const [program, args] = supervisorCommand(
    hosted ? { ...request, ...hostedCommand(request) } : request,
    programs
  );
  const file = (name: string) => join(request.directory, name);
  // Opened one by one, so that a failure closes the descriptors before it.
  const descriptors: number[] = [];
  try {
    const input = existsSync(file('stdin')) ? 'stdin' : 'prompt.txt';
    if (!hosted) descriptors.push(openSync(file(input), 'r'));
    for (const name of ['stdout', 'stderr'])
      descriptors.push(openToAppend(file(name)));
    const pipes = Number(hosted) + Number(stopWithUs);
    if (pipes > 0) expectDescriptorRoom(pipes);
    const child = spawn(program, args, {
      cwd: request.cwd,
      env: { ...request.environment, ...ownTmux(request) },
      detached: true,
      windowsHide: true,
      stdio: [
        ...(hosted ? ['pipe' as const] : []),
        ...descriptors,
        ...(stopWithUs ? ['pipe' as const] : [])
      ]
    });
    // Registered first: a failed start emits its error in the next tick.
    const ended = new Promise<boolean>((resolve, reject) => {
      child.once('exit', (code) => resolve(code !== notClaimed));
      child.once('error', reject);
    });
    child.unref();
    // Against its type, `stdio` is undefined after a failed start.
    const pipe = child.stdio?.[3];
    if (pipe) {
      pipe.on('error', () => undefined);
      if ('unref' in pipe && typeof pipe.unref === 'function') pipe.unref();
    }
    return { ended, pid: child.pid, stdin: child.stdin };
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
    outputRoute({
      ...request,
      ...request.runs,
      path: request.environment.PATH
    }),
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
    request.stopWithUs ? 'stop' : 'keep',
    String(Math.ceil(request.askSeconds ?? 0))
  ];
}
