import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { HostError } from '../../core/errors.ts';
import { lazy } from '../../core/lazy.ts';
import { pathsOf } from '../../core/paths/paths.ts';
import type { Access } from '../../plugin/plugin.ts';
import { type Client, clients, forUser } from '../clients/clients.ts';
import { carryOut, shortPath } from '../clients/settings-file.ts';
import { describeError, exitCodes } from '../commands/command-options.ts';
import { print, printJson } from '../output/output.ts';
import { table } from '../output/table.ts';
import {
  ceilingIn,
  grantsLine,
  planAccess,
  usualLevel
} from './access-plan.ts';
import {
  missingExtras,
  planExtras,
  planExtrasRemoval
} from './claude-extras.ts';
import type { SetUpContext } from './dialog.ts';
import { enginesHere, variablesOf } from './engines-here.ts';
import { type Finished, finish } from './finish.ts';
import { commitLine, planExclude } from './git-exclude.ts';
import {
  type ClientPlan,
  changeOf,
  hasEntry,
  type Plan,
  planFor,
  stateOf
} from './plan.ts';
import { needsHand, reportOf, showPlan } from './plan-report.ts';
import { toolOf } from './try-out.ts';
import { currentTrust, updateTrust } from './workspace-trust.ts';

/**
 * Shows the planned changes, asks for consent, writes the files and tries the
 * servers. Returns the exit code.
 */
export async function setUp(
  named: Client[],
  given: Omit<SetUpContext, 'engines'>
): Promise<number> {
  const { workspace, screen, questions } = given;
  const flags = { ...given.flags, user: await isForUser(named, given) };
  const engines = lazy(() => enginesHere(workspace));
  const context = { ...given, flags, engines };
  const isRemoval = flags.remove === true;
  // Throws for a wrong name, before anything is written.
  if (flags.engine !== undefined) await toolOf(flags.engine, workspace);
  const isUnnamed = named.length === 0;
  const shown = clientsFor(named, flags);
  const isList = isUnnamed && !questions && !flags.yes;
  const variables =
    isList || isRemoval ? [] : await variablesFor(shown, context);
  const all = await Promise.all(
    shown.map((one) => planFor(one, workspace, isRemoval, variables))
  );
  if (isList) return showAll(all, context);
  const plans = isUnnamed ? await chosen(all, context) : all;
  if (plans.length === 0) {
    if (flags.json && !isRemoval) throw noClientFound;
    const none = questions
      ? 'no client was chosen: nothing was written'
      : 'no client was found: nothing was written; name one: troupe init claude';
    screen.end(isRemoval ? 'no entry of troupe is there' : none);
    if (flags.json) await printJson(reportOf(workspace, []));
    return isRemoval ? exitCodes.done : exitCodes.error;
  }
  const level = await levelOf(plans, context);
  const access = level && (await planAccess(workspace, level));
  const extras = await extrasFor(plans, context);
  // Read after the plans: a file that changes from here on is not replaced.
  const before = await currentTrust(workspace);
  const ours = [...plans, ...(extras ? [extras] : [])];
  const exclude = planExclude(ours, workspace);
  const files: Plan[] = [...ours, access, exclude].filter(
    (plan) => plan !== undefined
  );
  for (const one of files) await showPlan(one, context);
  if (plans.some(({ edit }) => hasEntry(edit))) {
    const isPlanned = access !== undefined && 'change' in access.edit;
    const ceiling = isPlanned ? level : (await ceilingIn(workspace)).ceiling;
    screen.report(await grantsLine(plans, ceiling, flags.user));
    const commit = commitLine(plans, workspace);
    if (commit) screen.report(commit);
  }
  const written = await write(files, context);
  if (written && !isRemoval) await updateTrust(before, written, context);
  const finished = await tryServers(plans, written, context);
  if (flags.json)
    await printJson(
      reportOf(workspace, plans, { access, extras }, written, finished)
    );
  if (finished.code !== exitCodes.done) return finished.code;
  const isWhole = !files.some((one) => needsHand(one, flags));
  return isWhole && written !== undefined ? exitCodes.done : exitCodes.error;
}

/**
 * Whether the settings of all projects are meant. A user is asked once: not
 * when a client has an entry in this project.
 */
async function isForUser(
  named: Client[],
  { workspace, flags, questions }: Omit<SetUpContext, 'engines'>
): Promise<boolean> {
  if (flags.user || flags.remove || !questions) return flags.user === true;
  const here = await Promise.all(
    clientsFor(named, flags).map((one) => planFor(one, workspace, true))
  );
  const isHere = here.some(({ edit }) => 'change' in edit);
  return !isHere && questions.isForUser();
}

/** @throws HostError for a client without settings for all projects */
function clientsFor(
  named: Client[],
  { user }: SetUpContext['flags']
): readonly Client[] {
  if (!user) return named.length === 0 ? clients : named;
  if (named.length === 0) return clients.flatMap((one) => forUser(one) ?? []);
  return named.map((client) => {
    const found = forUser(client);
    if (found) return found;
    throw new HostError(
      'invalid_input',
      `${client.label} has no settings of servers for all projects that init writes.`,
      'Call it without --user, in the project.'
    );
  });
}

/** The plan for the hook and the status line of Claude Code, if it is set up. */
async function extrasFor(
  plans: ClientPlan[],
  { workspace, flags, questions }: SetUpContext
): Promise<Plan | undefined> {
  const claude = plans.find(({ client }) => client.name === 'claude');
  if (!claude) return undefined;
  const request = { workspace, isForUser: flags.user === true };
  if (flags.remove) return planExtrasRemoval(request);
  if (!hasEntry(claude.edit)) return undefined;
  const missing = await missingExtras(request);
  const isAsked = !flags.hooks && !flags.dryRun && missing.length > 0;
  const chosen = isAsked ? await questions?.extras(missing) : undefined;
  return planExtras(flags.hooks ? missing : (chosen ?? []), request);
}

/** What ready engines need, if one of the clients keeps variables back. */
async function variablesFor(
  named: readonly Client[],
  { screen, engines }: SetUpContext
): Promise<string[]> {
  if (!named.some(({ handsOnBy }) => handsOnBy !== undefined)) return [];
  try {
    const here = await screen.during(
      'looking which engines are ready',
      engines
    );
    return variablesOf(here);
  } catch (error) {
    // The check of the server reports an invalid configuration.
    if (error instanceof HostError) return [];
    throw error;
  }
}

const noClientFound = new HostError(
  'invalid_input',
  'No client was found: nothing was written.',
  'Name one: troupe init claude.'
);

/** Lists all clients. Runs in a pipe without clients on the line or --yes. */
async function showAll(
  plans: ClientPlan[],
  { workspace, flags, screen }: SetUpContext
): Promise<number> {
  if (flags.json) {
    await printJson(reportOf(workspace, plans));
    return exitCodes.done;
  }
  if (flags.remove && !plans.some(({ edit }) => 'change' in edit)) {
    screen.end('no entry of troupe is there');
    return exitCodes.done;
  }
  const rows = plans.map(({ client, label, trace, edit, file }) => [
    client.name,
    label,
    trace === undefined ? 'not found' : 'found',
    flags.remove && 'change' in edit ? 'is there' : stateOf(edit),
    file
  ]);
  await print(table(['NAME', 'CLIENT', 'HERE', 'TROUPE', 'FILE'], rows));
  const named = `troupe init claude${flags.remove ? ' --remove' : ''}`;
  screen.report(`nothing was written; name a client: ${named}`);
  return exitCodes.done;
}

/**
 * The clients that the user selects. Without prompts: all clients that were
 * found or, with --remove, all that have an entry.
 */
async function chosen(
  all: ClientPlan[],
  { flags, questions }: SetUpContext
): Promise<ClientPlan[]> {
  const isRemoval = flags.remove === true;
  const offered = isRemoval ? all.filter(({ edit }) => 'change' in edit) : all;
  if (!questions)
    return isRemoval
      ? offered
      : offered.filter(({ trace }) => trace !== undefined);
  if (offered.length === 0) return [];
  const names = await questions.clients(offered, isRemoval);
  return offered.filter(({ client }) => names.includes(client));
}

/**
 * The level of --access. Without that flag a configured `maxAccess` stays; if
 * there is none, the user is asked, or else gets the usual one.
 */
async function levelOf(
  plans: ClientPlan[],
  { workspace, flags, questions }: SetUpContext
): Promise<Access | undefined> {
  if (flags.remove || flags.access) return flags.access;
  const mayWrite = questions !== undefined || flags.yes || flags.dryRun;
  const isWanted = ({ edit }: ClientPlan) =>
    mayWrite ? hasEntry(edit) : 'change' in edit;
  if (!plans.some(isWanted)) return undefined;
  const { ceiling } = await ceilingIn(workspace);
  if (ceiling !== undefined) return undefined;
  return questions && !flags.dryRun ? questions.access() : usualLevel;
}

/** Returns the files that were written; undefined without consent. */
async function write(
  files: Plan[],
  { workspace, flags, screen, questions }: SetUpContext
): Promise<string[] | undefined> {
  const changes = files.flatMap(changeOf);
  if (flags.dryRun || changes.length === 0) return [];
  if (!flags.yes && !questions) {
    screen.warn(
      'nothing was written. Use --yes to write it, --dry-run to see it.'
    );
    return undefined;
  }
  const isRemoval = flags.remove === true;
  if (questions && !(await questions.write(changes.length, isRemoval)))
    return undefined;
  return files.flatMap((plan) =>
    changeOf(plan).flatMap((change) => {
      try {
        carryOut(change, workspace);
      } catch (error) {
        // The other files do not depend on this one.
        plan.edit = { problem: describeError(error), entry: '' };
        screen.warn(plan.edit.problem);
        return [];
      }
      const verb = change.text === undefined ? 'removed' : 'wrote';
      screen.good(`${verb} ${shortPath(change.file, workspace)}`);
      return [change.file];
    })
  );
}

async function tryServers(
  plans: ClientPlan[],
  written: string[] | undefined,
  context: SetUpContext
): Promise<Finished> {
  const { flags, screen, questions } = context;
  const hasConsent = written !== undefined && !flags.dryRun;
  if (hasConsent && flags.check && !flags.remove)
    return finish(plans, written, context);
  // In a pipe, `write` has already reported that nothing was written.
  if (written !== undefined || questions)
    screen.end(
      hasConsent
        ? await closingLine(plans, written, context)
        : 'nothing was written'
    );
  return { code: exitCodes.done, checks: new Map() };
}

async function closingLine(
  plans: ClientPlan[],
  written: string[],
  { workspace, flags }: SetUpContext
): Promise<string> {
  if (written.length === 0)
    return plans.some((plan) => needsHand(plan, flags))
      ? 'nothing was written'
      : 'nothing to do';
  if (!flags.remove) return 'done';
  const stays = await remainsIn(workspace);
  return `troupe is removed${stays && `; still here: ${stays}`}`;
}

/**
 * Lists what `init --remove` leaves behind: `maxAccess`, which applies again
 * when troupe is added again, the files in the workspace, and the record.
 * Returns '' when nothing is left.
 */
async function remainsIn(workspace: string): Promise<string> {
  const { record, shared, views } = pathsOf(workspace);
  const parts = [
    ...(await ceilingLeft(workspace)),
    ...(existsSync(join(views.directory, 'IAC.md')) ? ['logs/'] : []),
    ...(existsSync(shared.directory) ? ['.agents/'] : []),
    ...(existsSync(record) ? [`the record in ${record}`] : [])
  ];
  const last = parts.pop();
  return parts.length === 0 ? (last ?? '') : `${parts.join(', ')} and ${last}`;
}

async function ceilingLeft(workspace: string): Promise<string[]> {
  try {
    const { file, ceiling } = await ceilingIn(workspace);
    return file !== undefined && ceiling !== undefined
      ? [`maxAccess in ${shortPath(file, workspace)}`]
      : [];
  } catch {
    return [];
  }
}
