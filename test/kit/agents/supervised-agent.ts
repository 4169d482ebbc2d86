import { spawn } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readFileSync,
  symlinkSync,
  writeFileSync
} from 'node:fs';
import { join } from 'node:path';
import type { Writable } from 'node:stream';
import { locate } from '../../../src/adapters/child-process/locate.ts';
import { thisNamespace } from '../../../src/adapters/child-process/process-table.ts';
import { supervisorArguments } from '../../../src/adapters/child-process/supervise.ts';
import {
  type Claim,
  claimOf,
  emptyExitFile
} from '../../../src/core/runs/run-files.ts';
import { until } from '../judges/until.ts';

const reaper = join(import.meta.dirname, '../../../dist/reaper.cjs');

export interface SupervisedOptions {
  command?: string;
  args?: string[];
  prompt?: string;
  /** Its PATH. */
  path?: string;
  timeoutSeconds?: number;
  idleTimeoutSeconds?: number;
  outputLimitBytes?: number;
  /** Default: true, so that it writes through pipes. */
  isPlain?: boolean;
  /** Gives the supervisor the pipe that ends with its server. */
  stopWithUs?: boolean;
  reaper?: string;
  /** The agent's folder; default: a new one. */
  directory?: string;
  /** Called when the folder is laid out, before anything runs. */
  before?: (directory: string) => void;
}

export interface Supervised {
  directory: string;
  ended: Promise<unknown>;
  read: (file: string) => string;
  /** The claim, once the supervisor and its watchdogs stand in it. */
  claimed: () => Promise<Claim>;
  /** What happens when the server is gone. */
  disconnect: () => void;
}

/** Runs a shell script as an agent, under the supervisor and a given shell. */
export function superviseScript(
  base: string,
  shell: string,
  script: string,
  options: SupervisedOptions = {}
): Supervised {
  const directory = options.directory ?? mkdtempSync(join(base, 'run-'));
  const file = (name: string) => join(directory, name);
  for (const name of ['stdout', 'stderr', 'events.jsonl'])
    writeFileSync(file(name), '');
  writeFileSync(file('exit'), emptyExitFile);
  writeFileSync(file('prompt.txt'), options.prompt ?? '');
  options.before?.(directory);
  const environment = {
    PATH: options.path ?? process.env.PATH ?? '',
    TROUPE_AGENT_DIR: directory
  };
  const request = {
    agentId: 'abcdef01',
    directory,
    command: options.command ?? locate('sh') ?? '',
    args: ['-c', script, 'agent', ...(options.args ?? [])],
    cwd: base,
    environment,
    timeoutSeconds: options.timeoutSeconds ?? 0,
    idleTimeoutSeconds: options.idleTimeoutSeconds ?? 0,
    outputLimitBytes: options.outputLimitBytes ?? 0,
    isPlain: options.isPlain ?? true,
    stopWithUs: options.stopWithUs ?? false
  };
  const child = spawn(
    calledSh(base, shell),
    supervisorArguments(request, options.reaper ?? reaper),
    {
      cwd: base,
      env: environment,
      detached: true,
      stdio: [
        openSync(file('prompt.txt'), 'r'),
        openSync(file('stdout'), 'a'),
        openSync(file('stderr'), 'a'),
        ...(request.stopWithUs ? ['pipe' as const] : [])
      ]
    }
  );
  return {
    directory,
    ended: new Promise((resolve) => child.once('exit', resolve)),
    read: (name) => readFileSync(file(name), 'utf8'),
    claimed: () =>
      until('its claim', () => {
        const claim = claimOf(directory, thisNamespace());
        return claim && claim.watchdogs.length > 0 ? claim : undefined;
      }),
    disconnect: () => (child.stdio[3] as Writable).destroy()
  };
}

/** busybox is a shell only when it is called one, as /bin/sh is. */
function calledSh(base: string, shell: string): string {
  const folder = join(base, shell.replaceAll('/', '-'));
  const link = join(folder, 'sh');
  mkdirSync(folder, { recursive: true });
  if (!existsSync(link)) symlinkSync(shell, link);
  return link;
}
