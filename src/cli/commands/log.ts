import { basename } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { type Command, Option } from 'commander';
import type { Fault } from '../../core/audit/chains.ts';
import { verifyJournal } from '../../core/audit/verify.ts';
import type { Host } from '../../host.ts';
import type { HeadsDocument, VerifyDocument } from '../json/log-document.ts';
import { lastLines } from '../last-lines.ts';
import { openBlock } from '../live/agent-block.ts';
import { logLines, logTable } from '../log-table.ts';
import { colorsFor, print, printJson, printWords, tell } from '../output.ts';
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
import { oneLine } from '../text.ts';

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
      .description('what happened in the workspace, from the journal')
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
  const { lines, newLines } = lastLines(host.journal.files, flags.lines);
  if (flags.json) await printWords(asLines(lines));
  else if (lines.length > 0) await print(logTable(host, lines));
  else if (!flags.follow) tell(`There are no entries in ${path} to show.`);
  return interruption
    ? follow(host, newLines, interruption, flags)
    : exitCodes.done;
}

const pollMs = 300;
/** Agents at work are looked at less often than the journal. */
const looksPerShow = 3;

/** Until interrupted. */
async function follow(
  host: Host,
  newLines: () => Promise<string[]>,
  { signal, exitCode }: Interruption,
  { json }: LogFlags
): Promise<number> {
  host.watch();
  const block = openBlock([process.stdout, process.stderr]);
  try {
    for (let look = 0; !signal.aborted; look += 1) {
      const lines = await newLines();
      if (block && (lines.length > 0 || look % looksPerShow === 0))
        await block.show(host, await host.tracker.active());
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
      ? red(`First broken line: ${oneLine(told(first, path))}`)
      : green('Every chain holds.');
    const count = `${oneLine(path)}: records ${records}, chains ${heads.length}, torn lines ${torn}`;
    const more = faults
      .slice(1)
      .map((fault) => `Also line ${oneLine(told(fault, path))}\n`);
    await print(`${count}\n${verdict}\n${more.join('')}`);
  }
  return process.exitCode;
}

/** Without a name it is a line of the journal's own file. */
function told({ file, line, problem }: Fault, journal: string): string {
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
