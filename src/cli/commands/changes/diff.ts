import { basename } from 'node:path';
import type { Command } from 'commander';
import { patchOf, reportChanges } from '../../../core/changes/change-file.ts';
import type { Run } from '../../../core/runs/run.ts';
import { ownFile } from '../../../core/runs/run-files.ts';
import type { Host } from '../../../host/host.ts';
import {
  agentIdIn,
  describeOutcome,
  noSuchAgent
} from '../../output/agents.ts';
import { printAnswer, printJson, report } from '../../output/output.ts';
import {
  addWorkspaceFlags,
  exitAfter,
  exitCodes,
  type WorkspaceFlags
} from '../command-options.ts';

export function addDiff(program: Command): void {
  addWorkspaceFlags(
    program
      .command('diff')
      .description('the patch of what an agent changed')
      .argument('<id>', 'of an agent, or its beginning; see: troupe list')
      .option('--json', 'print the changed files and the path of the patch'),
    [
      'troupe diff 1a2b3c4d',
      'troupe diff 1a2b3c4d | git apply    # of an isolated agent',
      'troupe diff 1a2b3c4d | git apply -R # takes back what another changed'
    ]
  ).action(async (id: string, flags: WorkspaceFlags) =>
    exitAfter(flags, (host) => diff(host, id, flags))
  );
}

async function diff(
  host: Host,
  typed: string,
  { json }: WorkspaceFlags
): Promise<number> {
  const run = await agentAt(host, typed);
  const { record, status, outcome } = run;
  const { agent_id: id } = record;
  if (!outcome) {
    report(`${describeOutcome(run)} Its files are compared when it has ended.`);
    if (json) await printJson({ agent_id: id, status });
    return exitCodes.unfinished;
  }
  if (record.worktree) await host.tracker.followUp(record, outcome);
  const directory = host.store.directoryOf(id);
  const changes = reportChanges(record, directory);
  process.exitCode = changes.files_changed ? exitCodes.done : exitCodes.error;
  if (json) await printJson({ agent_id: id, status, ...changes });
  const patch = patchName(directory);
  if (patch === undefined) report(whyNoPatch(run, directory));
  else if (!json) await printAnswer(host.store, record, { result_file: patch });
  if (patch !== undefined && changes.files_changed_note)
    report(changes.files_changed_note);
  return process.exitCode;
}

/** @throws HostError `unknown_agent` */
export async function agentAt(host: Host, typed: string): Promise<Run> {
  const id = agentIdIn(host.store, typed);
  const run = await host.tracker.run(id);
  if (!run) throw noSuchAgent(id, host);
  return run;
}

/** The name of the patch in an agent's folder; undefined if there is none. */
export function patchName(directory: string): string | undefined {
  const name = basename(patchOf(directory));
  return ownFile(directory, name) && name;
}

/** Why there is no patch of an agent that has ended, in one sentence. */
export function whyNoPatch({ record }: Run, directory: string): string {
  const { files_changed, files_changed_total, files_changed_note, diff } =
    reportChanges(record, directory);
  const { agent_id: id, label } = record;
  if (record.kind === 'api')
    return `${label} ${id} is an API, which changes no files.`;
  if (diff !== undefined) return `The patch of ${label} ${id} is gone.`;
  if (files_changed && files_changed_total === 0)
    return `${label} ${id} changed no files.`;
  return (
    files_changed_note ??
    `The files of ${label} ${id} were not compared: it worked outside a git repository.`
  );
}
