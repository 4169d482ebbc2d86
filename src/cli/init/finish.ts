import { entryIn } from '../client-entry.ts';
import { catchInterruption } from '../process-end.ts';
import { exitCodes } from '../shared.ts';
import type { ClientPlan } from './plan.ts';
import { checkServer, type ServerCheck, type Start } from './server-check.ts';
import type { SetUpContext } from './set-up.ts';
import { settingsIn } from './settings-file.ts';
import { isTame, startsTroupe } from './troupe-launch.ts';
import { readyEngines, type TryOut, tryOut } from './try-out.ts';

/** What came of starting what was written. */
export interface Finished {
  code: number;
  /** By the client's name. */
  checks: Map<string, ServerCheck>;
  first?: TryOut & { engine: string };
}

export const nothingFinished: Finished = {
  code: exitCodes.done,
  checks: new Map()
};

/**
 * Starts the server of each entry as its client would, and has one agent look
 * at the project by way of the first that starts.
 */
export async function finish(
  plans: ClientPlan[],
  written: string[],
  context: SetUpContext
): Promise<Finished> {
  const { screen } = context;
  const checks = new Map<string, ServerCheck>();
  const good: { start: Start; plan: ClientPlan }[] = [];
  // Each might take a minute to fail in the same way.
  let ofNpx: ServerCheck | undefined;
  for (const plan of plans) {
    const { label, client } = plan;
    const start = await startOf(plan, context);
    if (!start) continue;
    if (!isTame(start.entry)) {
      screen.tell(
        `${label}: its entry has a start or variables of its own, and is not tried here`
      );
      continue;
    }
    const isByNpx = start.entry.command === 'npx';
    const look = () =>
      screen.during(`starting the server as ${label} does`, () =>
        checkServer(start)
      );
    const check = isByNpx && ofNpx ? ofNpx : await look();
    if (!check.ok && check.isNpms) ofNpx = check;
    checks.set(client.name, check);
    if (check.ok) {
      good.push({ start, plan });
      const { milliseconds, tools } = check;
      screen.good(
        `${label}: starts in ${milliseconds} ms, ${tools.length} tools`
      );
    } else {
      screen.warn(`${label}: ${check.problem} ${check.next}`);
      screen.tell(
        `${label}: to take the entry out again: troupe init ${client.name} --remove`
      );
    }
  }
  const code = checks.size === good.length ? exitCodes.done : exitCodes.error;
  const [first] = good;
  if (!first) {
    screen.end(
      code === exitCodes.done
        ? 'nothing was tried'
        : 'there is something to mend'
    );
    return { code, checks };
  }
  for (const { plan } of good)
    if (written.includes(plan.file))
      screen.tell(`${plan.label}: ${plan.client.note}`);
  const tried = await tryFirst(first.start, written.length > 0, context);
  const label = first.plan.label;
  screen.end(
    tried.code === exitCodes.done
      ? `start ${label} here and say: ${suggestion}`
      : (tried.end ??
          'the server starts, the agent did not do well: troupe doctor')
  );
  const { first: task } = tried;
  return {
    checks,
    ...(task ? { first: task } : {}),
    code: tried.code === exitCodes.done ? code : tried.code
  };
}

const suggestion = '"Have another agent review this project."';

/** Of what stands in the file now: its owner may have put more into it. */
async function startOf(
  { client, file }: ClientPlan,
  { workspace }: SetUpContext
): Promise<Start | undefined> {
  try {
    const entry = await entryIn(settingsIn(file, workspace), client);
    const isOurs = entry !== undefined && startsTroupe(entry);
    return isOurs ? { client, entry, workspace } : undefined;
  } catch {
    return undefined;
  }
}

interface Tried extends Omit<Finished, 'checks'> {
  /** The last word, where it is not one of the usual. */
  end?: string;
}

async function tryFirst(
  start: Start,
  isNew: boolean,
  context: SetUpContext
): Promise<Tried> {
  const { screen } = context;
  const engine = await engineFor(isNew, context);
  if (engine === undefined) return { code: exitCodes.done };
  const { signal, exitCode } = catchInterruption();
  const tried = await screen.during(`${engine} looks at this project`, () =>
    tryOut(start, engine, signal)
  );
  if (!tried) {
    const end = 'interrupted: the agent was stopped';
    return { code: exitCode() ?? exitCodes.error, end };
  }
  const first = { ...tried, engine };
  if (tried.problem !== undefined) {
    screen.warn(`the first task was not done: ${tried.problem}`);
    return { code: exitCodes.error, first };
  }
  const what = `${engine} has ended as ${tried.status}; logs/IAC.md says:`;
  await screen.quote(what, tried.entry);
  const isDone = tried.status === 'completed';
  return { code: isDone ? exitCodes.done : exitCodes.failed, first };
}

/** Unasked, only who costs nothing, and only after something was written. */
async function engineFor(
  isNew: boolean,
  { workspace, flags, screen, questions }: SetUpContext
): Promise<string | undefined> {
  if (flags.engine !== undefined) return flags.engine;
  if (!questions) return isNew ? 'rehearsal' : undefined;
  const ready = await screen.during('looking which engines are ready', () =>
    readyEngines(workspace)
  );
  return questions.engine(ready);
}
