import { homedir } from 'node:os';
import { HostError } from '../../core/errors.ts';
import type { Access } from '../../plugin.ts';
import { type Client, clients } from '../clients.ts';
import { print, printJson } from '../output.ts';
import { describeError, exitCodes, type JsonFlag } from '../shared.ts';
import { table } from '../table.ts';
import { ceilingOf, planAccess } from './access-plan.ts';
import { type Finished, finish, nothingFinished } from './finish.ts';
import {
  type ClientPlan,
  changeOf,
  type Plan,
  planFor,
  stateOf
} from './plan.ts';
import { needsHand, showPlan } from './plan-report.ts';
import type { Questions } from './questions.ts';
import { reportOf } from './report.ts';
import type { Screen } from './screen.ts';
import { carryOut, shortPath } from './settings-file.ts';
import { settleTrust, trustNow } from './settle-trust.ts';
import { toolOf } from './try-out.ts';
import { whatStays } from './what-stays.ts';

export interface SetUpFlags extends JsonFlag {
  dryRun?: boolean;
  yes?: boolean;
  remove?: boolean;
  access?: Access;
  engine?: string;
  /** False with --no-check. */
  check: boolean;
}

export interface SetUpContext {
  workspace: string;
  flags: SetUpFlags;
  screen: Screen;
  /** Absent where nobody is there to answer, or wants to be asked. */
  questions?: Questions | undefined;
}

/** Plans, shows, asks, writes, and tries what was written. */
export async function setUp(
  named: Client[],
  context: SetUpContext
): Promise<number> {
  const { workspace, flags, screen, questions } = context;
  const isRemoval = flags.remove === true;
  // A wrong name is told before anything is written.
  if (flags.engine !== undefined) await toolOf(flags.engine, workspace);
  const surroundings = { workspace, home: homedir() };
  const isOpen = named.length === 0;
  const all = await Promise.all(
    (isOpen ? clients : named).map((one) =>
      planFor(one, surroundings, isRemoval)
    )
  );
  if (isOpen && !questions && !flags.yes) return showAll(all, context);
  const plans = isOpen ? await chosen(all, context) : all;
  if (plans.length === 0) {
    if (flags.json && !isRemoval) throw nobodyFound;
    const none = questions
      ? 'no client was chosen: nothing was written'
      : 'no client was found: nothing was written; name one: troupe init claude';
    screen.end(isRemoval ? 'no entry of troupe is there' : none);
    if (flags.json) await printJson(reportOf(workspace, [], undefined));
    return isRemoval ? exitCodes.done : exitCodes.error;
  }
  const level = await levelOf(context);
  const access = level && (await planAccess(workspace, level));
  // After the text was read that is changed only if it is still the same.
  const before = await trustNow(workspace);
  const files: Plan[] = [...plans, ...(access ? [access] : [])];
  for (const one of files) await showPlan(screen, one, isRemoval, workspace);
  const written = await write(files, context);
  if (written && !isRemoval) await settleTrust(before, written, context);
  const finished = await afterwards(plans, written, context);
  if (flags.json)
    await printJson(reportOf(workspace, plans, access, written, finished));
  if (finished.code !== exitCodes.done) return finished.code;
  const isWhole = !files.some((one) => needsHand(one, isRemoval));
  return isWhole && written !== undefined ? exitCodes.done : exitCodes.error;
}

const nobodyFound = new HostError(
  'invalid_input',
  'No client was found: nothing was written.',
  'Name one: troupe init claude.'
);

/** In a pipe, and nothing was asked for: which clients there are. */
async function showAll(
  plans: ClientPlan[],
  { workspace, flags, screen }: SetUpContext
): Promise<number> {
  if (flags.json) {
    await printJson(reportOf(workspace, plans, undefined));
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
  screen.tell(`nothing was written; name a client: ${named}`);
  return exitCodes.done;
}

/** Of all clients: those that a person chooses, or those that are here. */
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

/** Asked for, or answered when the configuration says nothing yet. */
async function levelOf(context: SetUpContext): Promise<Access | undefined> {
  const { workspace, flags, questions } = context;
  if (flags.remove || flags.access || flags.dryRun || !questions)
    return flags.access;
  const isSet = (await ceilingOf(workspace)) !== undefined;
  return isSet ? undefined : questions.access();
}

/** What was written; undefined when it was not to be. */
async function write(
  files: Plan[],
  { workspace, flags, screen, questions }: SetUpContext
): Promise<string[] | undefined> {
  const changes = files.flatMap(changeOf);
  if (flags.dryRun || changes.length === 0) return [];
  if (!flags.yes && !questions) {
    screen.warn(
      'nothing was written. Say --yes to write it, --dry-run to see it.'
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
        // The others are files of other programs: they are written.
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

async function afterwards(
  plans: ClientPlan[],
  written: string[] | undefined,
  context: SetUpContext
): Promise<Finished> {
  const { flags, screen, questions } = context;
  const isAll = written !== undefined && !flags.dryRun;
  if (isAll && flags.check && !flags.remove)
    return finish(plans, written, context);
  // In a pipe, why nothing was written has been told.
  if (written !== undefined || questions)
    screen.end(
      isAll ? await lastWord(plans, written, context) : 'nothing was written'
    );
  return nothingFinished;
}

async function lastWord(
  plans: ClientPlan[],
  written: string[],
  { workspace, flags }: SetUpContext
): Promise<string> {
  if (written.length === 0)
    return plans.some((plan) => needsHand(plan, flags.remove === true))
      ? 'nothing was written'
      : 'nothing was to be done';
  if (!flags.remove) return 'done; nothing was tried';
  const stays = await whatStays(workspace);
  return `troupe is out${stays && `; what stays here: ${stays}`}`;
}
