import { type Command, InvalidArgumentError } from 'commander';
import { type Config, loadConfig } from '../config.ts';
import type { Flags } from '../config-overrides.ts';
import { HostError } from '../core/errors.ts';
import { createHost, type Host } from '../host.ts';

/** Documented in docs/command-line.md. */
export const exitCodes = {
  done: 0,
  /** Bad input, unknown id, configuration, a broken journal. */
  error: 1,
  /** The agent has ended, and not as `completed`. */
  failed: 2,
  /** The agent has not ended yet. */
  unfinished: 3
} as const;

/** What every command takes. */
export type WorkspaceFlags = Pick<
  Flags,
  'workspace' | 'config' | 'engines' | 'trust'
>;

export interface JsonFlag {
  json?: boolean;
}

export function addWorkspaceFlags(command: Command): Command {
  return command
    .option(
      '--workspace <dir>',
      'the project (default: CLAUDE_PROJECT_DIR, else the current directory)'
    )
    .option('--config <file>', 'configuration file')
    .option('--engines <names>', 'offer only these engines, comma separated')
    .option('--trust', 'obey all settings of the workspace (docs/trust.md)');
}

export function examples(lines: string[]): string {
  return `\nExamples:\n${lines.map((line) => `  $ ${line}`).join('\n')}\n`;
}

/**
 * Gives a command its host. Whatever the command is, it makes statuses and
 * IAC.md true first, and leaves them true.
 */
export async function withHost<Result>(
  flags: Flags,
  work: (host: Host) => Promise<Result>,
  adjust: (config: Config) => Config = (config) => config
): Promise<Result> {
  const host = await createHost(adjust(await loadConfig(flags)));
  host.safety.check();
  await host.attend();
  try {
    return await work(host);
  } finally {
    await host.close();
  }
}

export function describeError(error: unknown): string {
  if (error instanceof HostError) return `${error.message} ${error.hint}`;
  if (!(error instanceof Error)) return String(error);
  return process.env.TROUPE_DEBUG
    ? (error.stack ?? error.message)
    : error.message;
}

const longestSeconds = 604_800;

export function parseSeconds(text: string): number {
  const seconds = Number(text);
  if (text.trim() !== '' && seconds > 0 && seconds <= longestSeconds)
    return seconds;
  throw new InvalidArgumentError(
    `Give seconds, more than 0 and at most ${longestSeconds}.`
  );
}

export function parseCount(text: string): number {
  if (/^\d{1,9}$/.test(text)) return Number(text);
  throw new InvalidArgumentError('Give a whole number, 0 or more.');
}
