import { type Command, InvalidArgumentError } from 'commander';
import { type Config, loadConfig } from '../../config/config.ts';
import type { Flags } from '../../config/overrides.ts';
import { HostError } from '../../core/errors.ts';
import { createHost, type Host } from '../../host/host.ts';
import { exitWith } from '../process/process-end.ts';

/** Documented in docs/guides/command-line.md. */
export const exitCodes = {
  done: 0,
  /** Invalid input or configuration, an unknown id, or a broken journal. */
  error: 1,
  /** The agent has ended with another status than `completed`. */
  failed: 2,
  /** The agent has not ended yet. */
  unfinished: 3
} as const;

export interface JsonFlag {
  json?: boolean;
}

/** The flags of every command that works on a workspace. */
export interface WorkspaceFlags
  extends JsonFlag,
    Pick<Flags, 'workspace' | 'config' | 'engines' | 'trust'> {}

export function addWorkspaceFlags(
  command: Command,
  exampleLines?: string[]
): Command {
  return command
    .option(
      '--workspace <dir>',
      'the project (default: CLAUDE_PROJECT_DIR, else the current directory)'
    )
    .option('--config <file>', 'configuration file')
    .option('--engines <names>', 'offer only these engines, comma separated')
    .option(
      '--trust',
      'obey all settings of the workspace (docs/guides/trust.md)'
    )
    .addHelpText('after', exampleLines ? examples(exampleLines) : '');
}

export function examples(lines: string[]): string {
  return `\nExamples:\n${lines.map((line) => `  $ ${line}`).join('\n')}\n`;
}

/** Whether the command may prompt the user. */
export function isInteractive({ json }: JsonFlag): boolean {
  return process.stdin.isTTY && process.stdout.isTTY && !json;
}

/** Runs a command on a host, and exits with the code that it returns. */
export async function exitAfter(
  flags: Flags,
  work: (host: Host) => Promise<number>
): Promise<never> {
  return exitWith(await withHost(flags, work));
}

/** Runs a command on a host, and updates statuses and IAC.md around it. */
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

const unitsMs: Record<string, number> = {
  s: 1000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
  w: 7 * 86_400_000
};

/** Parses an age such as `30d`, `12h` or `2w` to milliseconds. */
export function parseAge(text: string): number {
  const [, number = '', unit = ''] =
    /^(\d{1,6}(?:\.\d+)?)([smhdw])$/.exec(text) ?? [];
  const unitMs = unitsMs[unit];
  if (unitMs !== undefined) return Number(number) * unitMs;
  throw new InvalidArgumentError(
    'Give a number and a unit: 30d, 12h, 2w, 90m or 60s.'
  );
}

/** Parses a size such as `2GB` or `500MB` to bytes; 1 KB is 1024 bytes. */
export function parseBytes(text: string): number {
  const [, number, prefix = ''] =
    /^(\d{1,9}(?:\.\d+)?) ?([kmgt]?)b$/i.exec(text) ?? [];
  if (number !== undefined)
    return Math.round(
      Number(number) *
        1024 ** ['', 'k', 'm', 'g', 't'].indexOf(prefix.toLowerCase())
    );
  throw new InvalidArgumentError(
    'Give a number and a unit: 2GB, 500MB, 10KB or 0B.'
  );
}
