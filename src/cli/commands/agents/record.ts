import { resolve } from 'node:path';
import type { Command } from 'commander';
import { loadConfig } from '../../../config/config.ts';
import { adoptRecord, orphansIn } from '../../../core/paths/records.ts';
import { useOf } from '../../../core/retention/record-users.ts';
import { bytesBelow } from '../../../core/state/files/directories.ts';
import { visibleText } from '../../../core/text.ts';
import { createHost } from '../../../host/host.ts';
import type { RecordDocument } from '../../json/record-documents.ts';
import { print, printJson, report } from '../../output/output.ts';
import { amount } from '../../output/text.ts';
import { exitWith } from '../../process/process-end.ts';
import {
  addWorkspaceFlags,
  exitCodes,
  type WorkspaceFlags
} from '../command-options.ts';

interface RecordFlags extends WorkspaceFlags {
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
      .option('--json', 'print JSON'),
    ['troupe record', 'troupe record --from ~/old/place/project']
  ).action(async (flags: RecordFlags) => exitWith(await record(flags)));
}

/** Does not call `attend`, which would create a record before `adoptRecord`. */
async function record(flags: RecordFlags): Promise<number> {
  const { from, json } = flags;
  const host = await createHost(await loadConfig(flags));
  const { paths, processes } = host;
  host.safety.check();
  if (from !== undefined) {
    adoptRecord(resolve(from), paths, (record) => useOf(record, processes));
    report(
      `the record of ${visibleText(resolve(from))} now belongs to this workspace`
    );
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
  if (!json) report(`${amount(document.bytes)}`);
  return exitCodes.done;
}
