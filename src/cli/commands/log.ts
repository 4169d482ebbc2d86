import { setTimeout as delay } from 'node:timers/promises';
import { type Command, Option } from 'commander';
import { maximumRecordBytes } from '../../core/audit/journal.ts';
import { parseRecord } from '../../core/audit/journal-window.ts';
import { verifyJournal } from '../../core/audit/verify.ts';
import { LineReader } from '../../core/state/line-reader.ts';
import type { Host } from '../../host.ts';
import { logLines, logTable } from '../log-table.ts';
import { colorsFor, print, printJson, tell } from '../output.ts';
import {
  catchInterruption,
  exitWith,
  type Interruption
} from '../process-end.ts';
import {
  addWorkspaceFlags,
  examples,
  exitCodes,
  type JsonFlag,
  parseCount,
  type WorkspaceFlags,
  withHost
} from '../shared.ts';
import { columns } from '../table.ts';

interface LogFlags extends WorkspaceFlags, JsonFlag {
  follow?: boolean;
  verify?: boolean;
  head?: boolean;
  lines: number;
}

export function addLog(program: Command): void {
  addWorkspaceFlags(
    program
      .command('log')
      .description('what happened in the workspace, from logs/iac.jsonl')
      .option('-n, --lines <count>', 'how many entries', parseCount, 20)
      .addOption(
        new Option('--follow', 'go on with what happens next').conflicts([
          'verify',
          'head'
        ])
      )
      .addOption(
        new Option('--verify', 'check that nothing was changed or taken out')
          // One question at a time.
          .conflicts('head')
      )
      .option('--head', 'print where each chain of records ends')
      .option('--json', 'print the records as they are, one a line')
  )
    .addHelpText(
      'after',
      examples([
        'troupe log -n 50',
        'troupe log --follow',
        'troupe log --verify',
        'troupe log --head > heads.txt   # keep it elsewhere',
        'troupe log -n 1000 --json | jq \'select(.type=="finished")\''
      ])
    )
    .action(async (flags: LogFlags) =>
      exitWith(
        await withHost(flags, (host) => {
          if (flags.verify) return verify(host, flags);
          return flags.head ? heads(host, flags) : show(host, flags);
        })
      )
    );
}

async function show(host: Host, flags: LogFlags): Promise<number> {
  const { path } = host.journal;
  const interruption = flags.follow ? catchInterruption() : undefined;
  const reader = new LineReader(path, maximumRecordBytes);
  const first = await newLines(reader, flags.lines);
  if (flags.json) await print(asLines(first));
  else if (first.length > 0) await print(logTable(host, first));
  else if (!flags.follow) tell(`There are no entries in ${path} to show.`);
  return interruption
    ? follow(host, reader, interruption, flags)
    : exitCodes.done;
}

const pollMs = 300;

/** Until interrupted. */
async function follow(
  host: Host,
  reader: LineReader,
  { signal, exitCode }: Interruption,
  { json }: LogFlags
): Promise<number> {
  host.watch();
  while (!signal.aborted) {
    const lines = await newLines(reader);
    if (lines.length > 0)
      await print(json ? asLines(lines) : logLines(host, lines));
    await delay(pollMs, undefined, { signal }).catch(() => undefined);
  }
  return exitCode() ?? exitCodes.done;
}

/**
 * The last records that were not read yet. What a killed writer left torn is
 * passed over.
 */
async function newLines(
  reader: LineReader,
  count = Number.POSITIVE_INFINITY
): Promise<string[]> {
  const lines: string[] = [];
  await reader.read((line) => {
    if (!parseRecord(line)) return;
    lines.push(line);
    if (lines.length > count) lines.shift();
  });
  return lines;
}

function asLines(lines: string[]): string {
  return lines.map((line) => `${line}\n`).join('');
}

async function verify(host: Host, { json }: JsonFlag): Promise<number> {
  const { path } = host.journal;
  const found = await verifyJournal(path, host.headDirectory);
  const { records, heads, torn, faults } = found;
  const [first] = faults;
  process.exitCode = first ? exitCodes.error : exitCodes.done;
  if (json)
    await printJson({
      ok: first === undefined,
      journal: path,
      records,
      chains: heads.length,
      torn,
      first_broken_line: first?.line ?? null,
      faults
    });
  else {
    const { green, red } = colorsFor(process.stdout);
    const verdict = first
      ? red(`First broken line: ${first.line}: ${first.problem}.`)
      : green('Every chain holds.');
    const count = `${path}: records ${records}, chains ${heads.length}, torn lines ${torn}`;
    const more = faults
      .slice(1)
      .map(({ line, problem }) => `Also line ${line}: ${problem}.\n`);
    await print(`${count}\n${verdict}\n${more.join('')}`);
  }
  return process.exitCode;
}

async function heads(host: Host, { json }: JsonFlag): Promise<number> {
  const { path } = host.journal;
  const { heads } = await verifyJournal(path, host.headDirectory);
  if (json) await printJson({ journal: path, heads });
  else
    await print(
      columns(heads.map(({ writer, n, hash }) => [writer, `${n}`, hash]))
    );
  return exitCodes.done;
}
