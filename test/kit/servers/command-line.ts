import { type ChildProcess, spawn } from 'node:child_process';
import { join } from 'node:path';
import type { TempWorkspace } from '../workspaces/temp-workspace.ts';
import { testEnvironment } from './mcp-client.ts';

const troupe = join(import.meta.dirname, '../../../dist/troupe.cjs');

export interface CommandOptions {
  /** Without it, stdin is empty. */
  stdin?: string;
  /** Other than the workspace. */
  cwd?: string;
  env?: Record<string, string>;
}

export interface CommandResult {
  code: number | null;
  stdout: string;
  stderr: string;
}

/** A `troupe` command of the built program, at work. */
export class RunningCommand {
  readonly child: ChildProcess;
  readonly exited: Promise<CommandResult>;
  stdout = '';
  stderr = '';

  constructor(child: ChildProcess) {
    this.child = child;
    for (const name of ['stdout', 'stderr'] as const)
      child[name]?.setEncoding('utf8').on('data', (chunk) => {
        this[name] += String(chunk);
      });
    this.exited = new Promise((resolve, reject) => {
      child.once('error', reject);
      child.once('close', (code) =>
        resolve({ code, stdout: this.stdout, stderr: this.stderr })
      );
    });
  }

  /** Resolves with the match as soon as the stream has it. */
  async says(
    name: 'stdout' | 'stderr',
    pattern: RegExp
  ): Promise<RegExpExecArray> {
    for (;;) {
      const match = pattern.exec(this[name]);
      if (match) return match;
      const ended = await Promise.race([
        this.exited.then(() => true),
        new Promise((resolve) =>
          this.child[name]?.once('data', () => resolve(false))
        )
      ]);
      if (ended && !pattern.test(this[name]))
        throw new Error(`It ended without ${pattern}: ${this[name]}`);
    }
  }
}

/** Starts the command in the workspace, as a shell would with pipes. */
export function startCommand(
  workspace: TempWorkspace,
  args: string[],
  options: CommandOptions = {}
): RunningCommand {
  const child = spawn(process.execPath, [troupe, ...args], {
    cwd: options.cwd ?? workspace.path,
    stdio: ['pipe', 'pipe', 'pipe'],
    env: testEnvironment(workspace, options.env)
  });
  child.stdin?.on('error', () => undefined);
  child.stdin?.end(options.stdin ?? '');
  return new RunningCommand(child);
}

export function runCommand(
  workspace: TempWorkspace,
  args: string[],
  options: CommandOptions = {}
): Promise<CommandResult> {
  return startCommand(workspace, args, options).exited;
}
