import { resolve } from 'node:path';
import type { Command } from 'commander';
import { createProcesses } from '../../adapters/child-process/processes.ts';
import { surveyTrust } from '../../config.ts';
import type { Flags } from '../../config-overrides.ts';
import { HostError } from '../../core/errors.ts';
import { Origin } from '../../core/runs/origin.ts';
import { distDirectory } from '../../dist-directory.ts';
import { grantsOf, type Trust } from '../../trust/trust.ts';
import { workspaceOf } from '../../workspace-root.ts';
import type {
  TrustDocument,
  TrustListDocument,
  TrustRevokeDocument
} from '../json/trust-document.ts';
import { print, printJson, tell } from '../output.ts';
import { exitWith } from '../process-end.ts';
import { examples, exitCodes, type JsonFlag } from '../shared.ts';
import { columns } from '../table.ts';
import { when } from '../text.ts';
import { askedLines, digestsOfAll } from '../trust-report.ts';

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
    .option('--revoke', 'trust it no longer')
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
    tell('trusted; servers that run here take it up when they are restarted');
  else if (isOpen)
    tell('not trusted: nothing was granted. To grant it: troupe trust --yes');
  return trusted ? exitCodes.done : exitCodes.error;
}

async function showText(workspace: string, found: Trust): Promise<void> {
  const { asked, leftOut, hasChanged } = found;
  if (asked.length === 0) {
    tell(`${workspace} asks for nothing that needs your trust`);
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

/** Only a person at a terminal is asked. */
async function agreesToTrust({ json }: JsonFlag): Promise<boolean> {
  if (json || !process.stdin.isTTY || !process.stdout.isTTY) return false;
  const clack = await import('@clack/prompts');
  const answer = await clack.confirm({
    message: 'Trust this workspace? Its programs run as you.',
    initialValue: false
  });
  return answer === true;
}

/** @throws HostError when an agent asks, or the store cannot be written */
export function grant(workspace: string, found: Pick<Trust, 'asked'>): void {
  const nothing = () => undefined;
  const store = {
    recordOf: nothing,
    outcomeOf: nothing,
    openIds: () => [],
    directoryOf: (id: string) => id
  };
  const processes = createProcesses(distDirectory());
  if (new Origin({ store, processes }).depth > 0)
    throw new HostError(
      'invalid_input',
      'An agent cannot trust a workspace.',
      'The user runs "troupe trust" in a terminal that no agent has opened.'
    );
  grantsOf(workspace, process.env).add(workspace, digestsOfAll(found));
}

async function revoke(flags: TrustFlags): Promise<number> {
  const workspace = whereverItIs(flags);
  const revoked = grantsOf(workspace, process.env).revoke(workspace);
  if (flags.json) await printJson<TrustRevokeDocument>({ workspace, revoked });
  else
    tell(
      revoked
        ? `${workspace} is no longer trusted; servers that run there have to be restarted`
        : `${workspace} was not trusted`
    );
  return exitCodes.done;
}

/** It may be gone, and trusted yet. */
function whereverItIs(flags: TrustFlags): string {
  try {
    return workspaceOf(flags, process.env);
  } catch (error) {
    if (flags.workspace === undefined) throw error;
    return resolve(flags.workspace);
  }
}

async function list({ json, ...flags }: TrustFlags): Promise<number> {
  const grants = grantsOf(whereverItIs(flags), process.env).all();
  if (json)
    await printJson<TrustListDocument>({
      workspaces: grants.map(({ workspace, grantedAt }) => ({
        workspace,
        granted_at: grantedAt
      }))
    });
  else if (grants.length === 0) tell('no workspace is trusted');
  else
    await print(
      columns(
        grants.map(({ workspace, grantedAt }) => [workspace, when(grantedAt)])
      )
    );
  return exitCodes.done;
}
