import { basename } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { type Command, Option } from 'commander';
import {
  type Fault,
  verifyJournal
} from '../../../core/audit/journal/verify.ts';
import { terminalLine } from '../../../core/text.ts';
import type { Host } from '../../../host/host.ts';
import type {
  HeadsDocument,
  VerifyDocument
} from '../../json/record-documents.ts';
import { openBlock } from '../../live/agent-block.ts';
import { lastLines, logLines, logTable } from '../../output/journal-lines.ts';
import {
  colorsFor,
  print,
  printJson,
  printWords,
  report
} from '../../output/output.ts';
import { columns } from '../../output/table.ts';
import {
  catchInterruption,
  type Interruption
} from '../../process/process-end.ts';
import {
  addWorkspaceFlags,
  exitAfter,
  exitCodes,
  type JsonFlag,
  parseCount,
  type WorkspaceFlags
} from '../command-options.ts';

interface LogFlags extends WorkspaceFlags {
  follow?: boolean;
  verify?: boolean;
  head?: boolean;
  limit: number;
}

export function addLog(program: Command): void {
  addWorkspaceFlags(
    program
      .command('log')
      .description('what happened in the workspace, from the journal')
      .option('-n, --limit <count>', 'how many entries', parseCount, 20)
      .addOption(
        new Option('--follow', 'then print new events as they come').conflicts([
          'verify',
          'head'
        ])
      )
      .addOption(
        new Option(
          '--verify',
          'check that no record was changed or removed'
        ).conflicts('head')
      )
      .option('--head', 'print where each chain of records ends')
      .option('--json', 'print the records as they are, one per line'),
    [
      'troupe log -n 50',
      'troupe log --follow',
      'troupe log --verify',
      'troupe log --head > heads.txt   # keep it elsewhere',
      'troupe log -n 1000 --json | jq \'select(.type=="finished")\''
    ]
  ).action(async (flags: LogFlags) =>
    exitAfter(flags, (host) => {
      if (flags.verify) return verify(host, flags);
      return flags.head ? heads(host, flags) : show(host, flags);
    })
  );
}

async function show(host: Host, flags: LogFlags): Promise<number> {
  const { path } = host.journal;
  const interruption = flags.follow ? catchInterruption() : undefined;
  const { lines, newLines } = lastLines(host.journal.files, flags.limit);
  if (flags.json) await printWords(asLines(lines));
  else if (lines.length > 0) await print(logTable(host, lines));
  else if (!flags.follow) report(`There are no entries in ${path} to show.`);
  return interruption
    ? follow(host, newLines, interruption, flags)
    : exitCodes.done;
}

const pollMs = 300;
/** The running agents are read less often than the journal. */
const pollsPerUpdate = 3;

/** Prints new entries until the user interrupts. */
async function follow(
  host: Host,
  newLines: () => Promise<string[]>,
  { signal, exitCode }: Interruption,
  { json }: LogFlags
): Promise<number> {
  host.watch();
  const block = openBlock([process.stdout, process.stderr]);
  try {
    for (let poll = 0; !signal.aborted; poll += 1) {
      const lines = await newLines();
      if (block && (lines.length > 0 || poll % pollsPerUpdate === 0))
        block.show(host, await host.tracker.active());
      if (lines.length > 0)
        await (json
          ? printWords(asLines(lines))
          : print(logLines(host, lines)));
      await delay(pollMs, undefined, { signal }).catch(() => undefined);
    }
  } finally {
    block?.close();
  }
  return exitCode() ?? exitCodes.done;
}

function asLines(lines: string[]): string {
  return lines.map((line) => `${line}\n`).join('');
}

async function verify(host: Host, { json }: JsonFlag): Promise<number> {
  const { path } = host.journal;
  const found = await verifyJournal(path, host.paths.heads);
  const { records, heads, torn, faults } = found;
  const [first] = faults;
  process.exitCode = first ? exitCodes.error : exitCodes.done;
  if (json)
    await printJson<VerifyDocument>({
      ok: first === undefined,
      journal: path,
      records,
      chains: heads.length,
      torn,
      first_broken_file: first?.file ?? null,
      first_broken_line: first?.line ?? null,
      faults
    });
  else {
    const { green, red } = colorsFor(process.stdout);
    const verdict = first
      ? red(`First broken line: ${terminalLine(describeFault(first, path))}`)
      : green('Every chain holds.');
    const count = `${terminalLine(path)}: records ${records}, chains ${heads.length}, torn lines ${torn}`;
    const more = faults
      .slice(1)
      .map(
        (fault) => `Also line ${terminalLine(describeFault(fault, path))}\n`
      );
    await print(`${count}\n${verdict}\n${more.join('')}`);
  }
  return process.exitCode;
}

/** Names the file unless it is the current journal. */
function describeFault(
  { file, line, problem }: Fault,
  journal: string
): string {
  const where = file === basename(journal) ? '' : ` of ${file}`;
  return `${line}${where}: ${problem}.`;
}

async function heads(host: Host, { json }: JsonFlag): Promise<number> {
  const { path } = host.journal;
  const { heads } = await verifyJournal(path, host.paths.heads);
  if (json) await printJson<HeadsDocument>({ journal: path, heads });
  else
    await print(
      columns(heads.map(({ writer, n, hash }) => [writer, `${n}`, hash]))
    );
  return exitCodes.done;
}
