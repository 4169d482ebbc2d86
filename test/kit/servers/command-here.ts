import { vi } from 'vitest';
import {
  describeError,
  exitCodes
} from '../../../src/cli/commands/command-options.ts';
import { createProgram, isHelp } from '../../../src/cli/entry/program.ts';
import { report } from '../../../src/cli/output/output.ts';
import type { TempWorkspace } from '../workspaces/temp-workspace.ts';
import type { CommandResult } from './command-line.ts';

class Exit extends Error {
  readonly code: number;

  constructor(code: number) {
    super(`exit code ${code}`);
    this.code = code;
  }
}

/**
 * Runs a `troupe` command in this process, as in a pipe, from its sources
 * rather than from the build. One at a time.
 * @param env on top of the environment, with the workspace's HOME
 */
export async function commandHere(
  { home }: TempWorkspace,
  args: string[],
  env: Record<string, string> = {}
): Promise<CommandResult> {
  for (const name of Object.keys(process.env))
    if (ownSettings.test(name)) vi.stubEnv(name, undefined);
  for (const [name, value] of Object.entries({ HOME: home, ...env }))
    vi.stubEnv(name, value);
  const written = { stdout: '', stderr: '' };
  const spies = (['stdout', 'stderr'] as const).map((name) =>
    vi.spyOn(process[name], 'write').mockImplementation((text, ...rest) => {
      written[name] += String(text);
      for (const called of rest) if (called instanceof Function) called();
      return true;
    })
  );
  const exit = vi.spyOn(process, 'exit').mockImplementation((code) => {
    throw new Exit(Number(code));
  });
  const { exitCode } = process;
  try {
    const code = await codeOf(args);
    return { code, ...written };
  } finally {
    process.exitCode = exitCode;
    for (const spy of [...spies, exit]) spy.mockRestore();
    vi.unstubAllEnvs();
  }
}

/** Variables of the machine that would change what a command does. */
const ownSettings = /^(TROUPE|CLAUDE|CODEX|XDG)_|_(API_)?KEY$/;

/** The exit code, as the entry of the program reports errors. */
async function codeOf(args: string[]): Promise<number> {
  try {
    process.exitCode = undefined;
    await createProgram().parseAsync(args, { from: 'user' });
    return Number(process.exitCode ?? exitCodes.done);
  } catch (error) {
    if (error instanceof Exit) return error.code;
    if (isHelp(error)) return exitCodes.done;
    report(describeError(error));
    return exitCodes.error;
  }
}
