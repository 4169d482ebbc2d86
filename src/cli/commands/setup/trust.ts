import { resolve } from 'node:path';
import type { Command } from 'commander';
import { surveyTrust } from '../../../config/config.ts';
import type { Flags } from '../../../config/overrides.ts';
import { grantsOf, type Trust } from '../../../config/trust.ts';
import { HostError } from '../../../core/errors.ts';
import { workspaceOf } from '../../../host/workspace-root.ts';
import { askedLines, grant } from '../../init/workspace-trust.ts';
import type {
  TrustDocument,
  TrustListDocument,
  TrustRevokeDocument
} from '../../json/setup-documents.ts';
import { print, printJson, report } from '../../output/output.ts';
import { columns } from '../../output/table.ts';
import { when } from '../../output/text.ts';
import { exitWith } from '../../process/process-end.ts';
import {
  examples,
  exitCodes,
  isInteractive,
  type JsonFlag
} from '../command-options.ts';

interface TrustFlags extends JsonFlag {
  workspace?: string;
  config?: string;
  agentsDirectoryPath?: string;
  yes?: boolean;
  revoke?: boolean;
  list?: boolean;
}

export function addTrust(program: Command): void {
  program
    .command('trust')
    .description('what the files of this workspace may do, and your consent')
    .option(
      '--workspace <dir>',
      'the project (default: CLAUDE_PROJECT_DIR, else the current directory)'
    )
    .option('--config <file>', 'configuration file')
    .option(
      '--agents-directory-path <dir>',
      'role files, relative to the workspace (default: agents)'
    )
    .option('-y, --yes', 'trust it as it is now; needed in a pipe')
    .option('--revoke', 'stop trusting it')
    .option('--list', 'all workspaces that you trust')
    .option('--json', 'print JSON')
    .addHelpText(
      'after',
      `
Until you trust a workspace, its own files run no code, redirect no key and
raise no limit. Trust ends when these files change. Showing runs nothing.
${examples([
  'troupe trust            # shows what it asks for, and asks you',
  'troupe trust --yes',
  'troupe trust --revoke',
  'troupe trust --list'
])}`
    )
    .action(async (flags: TrustFlags) => exitWith(await trust(flags)));
}

async function trust(flags: TrustFlags): Promise<number> {
  if ([flags.yes, flags.revoke, flags.list].filter(Boolean).length > 1)
    throw new HostError(
      'invalid_input',
      '--yes, --revoke and --list exclude each other.',
      'Give one of them.'
    );
  if (flags.list) return list(flags);
  return flags.revoke ? revoke(flags) : show(flags);
}

async function show(flags: TrustFlags): Promise<number> {
  const workspace = workspaceOf(flags, process.env);
  const { config, agentsDirectoryPath } = flags;
  const asServed: Flags = { workspace, config, agentsDirectoryPath };
  const found = await surveyTrust({ ...asServed, forSquads: true });
  const isOpen = found.leftOut.length > 0;
  if (!flags.json) await showText(workspace, found);
  const isAgreed =
    isOpen && (flags.yes === true || (await agreesToTrust(flags)));
  if (isAgreed) grant(workspace, found);
  const trusted = !isOpen || isAgreed;
  if (flags.json)
    await printJson<TrustDocument>({
      workspace,
      trusted,
      changed: found.hasChanged,
      asked: found.asked.map(({ setting, allows, isGranted }) => ({
        setting,
        allows,
        trusted: isGranted || isAgreed
      }))
    });
  else if (isAgreed)
    report('trusted; running servers need a restart to apply it');
  else if (isOpen)
    report('not trusted: nothing was granted. To grant it: troupe trust --yes');
  return trusted ? exitCodes.done : exitCodes.error;
}

async function showText(workspace: string, found: Trust): Promise<void> {
  const { asked, leftOut, hasChanged } = found;
  if (asked.length === 0) {
    report(`${workspace} asks for nothing that needs your trust`);
    return;
  }
  const state =
    leftOut.length === 0
      ? 'You trust'
      : hasChanged
        ? 'This has changed since you trusted it:'
        : 'You do not trust';
  await print(`${state} ${workspace}. It asks for:\n\n${askedLines(asked)}`);
}

/** False without a terminal, where nothing is asked. */
async function agreesToTrust(flags: JsonFlag): Promise<boolean> {
  if (!isInteractive(flags)) return false;
  const clack = await import('@clack/prompts');
  const answer = await clack.confirm({
    message: 'Trust this workspace? Its programs run as you.',
    initialValue: false
  });
  return answer === true;
}

async function revoke(flags: TrustFlags): Promise<number> {
  const workspace = existingOrGone(flags);
  const revoked = grantsOf(workspace, process.env).revoke(workspace);
  if (flags.json) await printJson<TrustRevokeDocument>({ workspace, revoked });
  else
    report(
      revoked
        ? `${workspace} is no longer trusted; servers running there need a restart`
        : `${workspace} was not trusted`
    );
  return exitCodes.done;
}

/** Resolves --workspace also when it is gone: it may still be trusted. */
function existingOrGone(flags: TrustFlags): string {
  try {
    return workspaceOf(flags, process.env);
  } catch (error) {
    if (flags.workspace === undefined) throw error;
    return resolve(flags.workspace);
  }
}

async function list({ json, ...flags }: TrustFlags): Promise<number> {
  const grants = grantsOf(existingOrGone(flags), process.env).all();
  if (json)
    await printJson<TrustListDocument>({
      workspaces: grants.map(({ workspace, grantedAt }) => ({
        workspace,
        granted_at: grantedAt
      }))
    });
  else if (grants.length === 0) report('no workspace is trusted');
  else
    await print(
      columns(
        grants.map(({ workspace, grantedAt }) => [workspace, when(grantedAt)])
      )
    );
  return exitCodes.done;
}
