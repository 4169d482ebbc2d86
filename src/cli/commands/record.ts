import { resolve } from 'node:path';
import type { Command } from 'commander';
import { loadConfig } from '../../config.ts';
import { orphansIn, takeRecord } from '../../core/paths/records.ts';
import { bytesBelow } from '../../core/state/bytes-below.ts';
import { visibleText } from '../../core/visible-text.ts';
import { createHost } from '../../host.ts';
import { amount } from '../amounts.ts';
import type { RecordDocument } from '../json/record-document.ts';
import { print, printJson, tell } from '../output.ts';
import { exitWith } from '../process-end.ts';
import {
  addWorkspaceFlags,
  examples,
  exitCodes,
  type JsonFlag,
  type WorkspaceFlags
} from '../shared.ts';

interface RecordFlags extends WorkspaceFlags, JsonFlag {
  from?: string;
}

export function addRecord(program: Command): void {
  addWorkspaceFlags(
    program
      .command('record')
      .description('where the record of this workspace is')
      .option(
        '--from <old path>',
        'take over the record of a workspace that was moved or renamed'
      )
      .option('--json', 'print JSON')
  )
    .addHelpText(
      'after',
      examples(['troupe record', 'troupe record --from ~/old/place/project'])
    )
    .action(async (flags: RecordFlags) => exitWith(await record(flags)));
}

/** No host attends before: it would begin a record where one is to come. */
async function record(flags: RecordFlags): Promise<number> {
  const { from, json } = flags;
  const host = await createHost(await loadConfig(flags));
  const { paths, processes } = host;
  host.safety.check();
  if (from !== undefined) {
    takeRecord(resolve(from), paths, processes);
    tell(`the record of ${visibleText(resolve(from))} is this workspace's now`);
  }
  const document: RecordDocument = {
    workspace: paths.workspace,
    record: paths.record,
    bytes: bytesBelow(paths.record),
    orphans: orphansIn(paths.home).map(({ path, workspace }) => ({
      record: path,
      workspace
    }))
  };
  if (json) await printJson(document);
  else await print(`${paths.record}\n`);
  if (!json) tell(`${amount(document.bytes)}`);
  return exitCodes.done;
}
