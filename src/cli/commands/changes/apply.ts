import type { Command } from 'commander';
import type { Application } from '../../../adapters/git/apply-patch.ts';
import { patchOf } from '../../../core/changes/change-file.ts';
import { HostError, messageOf } from '../../../core/errors.ts';
import type { Worktree } from '../../../core/runs/run.ts';
import { terminalLine } from '../../../core/text.ts';
import type { Host } from '../../../host/host.ts';
import type { ApplyDocument } from '../../json/agent-documents.ts';
import { describeOutcome } from '../../output/agents.ts';
import { print, printJson, report } from '../../output/output.ts';
import { counted } from '../../output/text.ts';
import {
  addWorkspaceFlags,
  exitAfter,
  exitCodes,
  type WorkspaceFlags
} from '../command-options.ts';
import { agentAt, patchName, whyNoPatch } from './diff.ts';

export function addApply(program: Command): void {
  addWorkspaceFlags(
    program
      .command('apply')
      .description('apply the changes of an isolated agent; commits nothing')
      .argument('<id>', 'of an agent, or its beginning; see: troupe list')
      .option('--json', 'print JSON'),
    ['troupe apply 1a2b3c4d', 'troupe apply 1a2b3c4d && git diff --cached']
  ).action(async (id: string, flags: WorkspaceFlags) =>
    exitAfter(flags, (host) => apply(host, id, flags))
  );
}

/** Time limit of the checks; writing the files has none. */
const checkMs = 120_000;

async function apply(
  host: Host,
  typed: string,
  { json }: WorkspaceFlags
): Promise<number> {
  const run = await agentAt(host, typed);
  const { record, outcome } = run;
  const { agent_id: id, worktree, label } = record;
  const directory = host.store.directoryOf(id);
  const answer = async (
    { status, files }: Pick<Application, 'status' | 'files'>,
    message: string,
    top: string | null = null
  ) => {
    const isApplied = status === 'applied';
    process.exitCode = isApplied ? exitCodes.done : exitCodes.error;
    if (!outcome) process.exitCode = exitCodes.unfinished;
    if (json)
      await printJson<ApplyDocument>({
        agent_id: id,
        status: status === 'filtered' ? 'refused' : status,
        directory: top,
        files,
        message
      });
    else if (isApplied) await print(`${message}\n`);
    if (!isApplied) report(message);
    return process.exitCode;
  };
  const nothing = { status: 'nothing' as const, files: [] };
  if (!outcome)
    return answer(
      { status: 'refused', files: [] },
      `${describeOutcome(run)} Wait for its end: troupe wait ${id}`
    );
  if (patchName(directory) === undefined)
    return answer(nothing, whyNoPatch(run, directory));
  if (!worktree)
    return answer(
      nothing,
      `${label} ${id} was not isolated: its changes are in ${record.cwd} already.`
    );
  const top = worktree.origin;
  const application = await applyTo(top, patchOf(directory));
  const message = describe(application, id, top, worktree);
  return answer(application, message, top);
}

/** @throws HostError `no_repository` */
async function applyTo(top: string, patch: string): Promise<Application> {
  const { applyPatch } = await import('../../../adapters/git/apply-patch.ts');
  try {
    return await applyPatch(top, patch, AbortSignal.timeout(checkMs));
  } catch (error) {
    throw new HostError(
      'no_repository',
      `Nothing can be applied to ${top}: ${messageOf(error)}.`,
      'Nothing was changed.'
    );
  }
}

function describe(
  { status, files, reason }: Application,
  id: string,
  top: string,
  { path, branch }: Worktree
): string {
  const names = files.slice(0, mostNames).map(terminalLine).join(', ');
  const rest = files.length - mostNames;
  const listed = rest > 0 ? `${names} and ${rest} more` : names;
  const words = terminalLine(reason ?? '').replace(/\.$/, '');
  switch (status) {
    case 'applied':
      return `Applied ${id} to ${counted(files.length, 'file')}: ${listed}. Nothing is committed.`;
    case 'nothing':
      return `The changes of ${id} are in ${top} already.`;
    case 'conflict':
      return `The changes of ${id} conflict with what is in ${top}: ${listed || words}. Nothing was changed. To merge by hand: troupe diff ${id} | git apply --3way`;
    case 'overlap':
      return `${counted(files.length, 'path')} with uncommitted or untracked content ${files.length === 1 ? 'is' : 'are'} in the way of ${id}: ${listed}. Nothing was changed. Commit or stash what is yours, or move it away.`;
    case 'filtered':
      return `A filter of git, such as Git LFS, changes the content of ${counted(files.length, 'file')} of ${id}, which the patch does not have: ${listed}. Nothing was changed. Copy what you need from ${path}, or commit it there and run: git merge ${branch}`;
    case 'partial':
      return `git failed to apply the changes of ${id} (${words}), and ${counted(files.length, 'file')} could not be restored: ${listed}. Run git restore for them in ${top}, and delete those that are new.`;
    case 'refused':
      return `git did not apply the changes of ${id}: ${words}. Nothing was changed.`;
  }
}

/** The most files that a message names. */
const mostNames = 8;
