import { entryIn } from '../clients/client-entry.ts';
import { settingsIn } from '../clients/settings-file.ts';
import { startsThisTroupe, startsTroupe } from '../clients/troupe-launch.ts';
import { exitCodes } from '../commands/command-options.ts';
import type { FirstTask } from '../json/setup-documents.ts';
import { catchInterruption } from '../process/process-end.ts';
import type { SetUpContext } from './dialog.ts';
import { handOnStep, readinessFrom } from './engines-here.ts';
import type { ClientPlan } from './plan.ts';
import { checkServer, type ServerCheck, type Start } from './server-check.ts';
import { tryOut } from './try-out.ts';

/** The results of the server checks and of the first task. */
export interface Finished {
  code: number;
  /** Keyed by the name of the client. */
  checks: Map<string, ServerCheck>;
  first?: FirstTask;
}

/**
 * Starts the server of each entry as its client would. Through the first
 * server that starts, one agent reads the project.
 */
export async function finish(
  plans: ClientPlan[],
  written: string[],
  context: SetUpContext
): Promise<Finished> {
  const { screen } = context;
  const checks = new Map<string, ServerCheck>();
  const started: { start: Start; plan: ClientPlan }[] = [];
  // The other entries would fail in the same way, each after up to a minute.
  let npxFailure: ServerCheck | undefined;
  for (const plan of plans) {
    const { label, client } = plan;
    const start = await startOf(plan, context);
    if (!start) continue;
    if (!startsThisTroupe(start.entry)) {
      screen.report(
        `${label}: its entry has a start or variables of its own, and is not tried here`
      );
      continue;
    }
    const isByNpx = start.entry.command === 'npx';
    const check =
      isByNpx && npxFailure
        ? npxFailure
        : await screen.during(`starting the server as ${label} does`, () =>
            checkServer(start)
          );
    if (!check.ok && check.isNpms) npxFailure = check;
    checks.set(client.name, check);
    if (check.ok) {
      started.push({ start, plan });
      const { milliseconds, tools } = check;
      screen.good(
        `${label}: starts in ${milliseconds} ms, ${tools.length} tools`
      );
      await reportReadiness(start, context);
    } else {
      screen.warn(`${label}: ${check.problem} ${check.next}`);
      screen.report(
        `${label}: to take the entry out again: troupe init ${client.name} --remove`
      );
    }
  }
  const allStarted = checks.size === started.length;
  const code = allStarted ? exitCodes.done : exitCodes.error;
  const [first] = started;
  if (!first) {
    screen.end(allStarted ? 'done' : 'see the problems above');
    return { code, checks };
  }
  for (const { plan } of started)
    if (written.includes(plan.file))
      screen.report(`${plan.label}: ${plan.client.note}`);
  const engine = await engineFor(written.length > 0, context);
  const tried: FirstTaskResult =
    engine === undefined
      ? { code: exitCodes.done }
      : await tryFirst(first.start, engine, context);
  const { end = 'the server starts, but the agent failed; see troupe doctor' } =
    tried;
  screen.end(
    tried.code === exitCodes.done
      ? `start ${first.plan.label} here and say: "Have another agent review this project."`
      : end
  );
  return {
    checks,
    ...(tried.first ? { first: tried.first } : {}),
    code: tried.code === exitCodes.done ? code : tried.code
  };
}

async function reportReadiness(
  start: Start,
  { screen, engines }: SetUpContext
): Promise<void> {
  const { client } = start;
  const readiness = await screen.during(
    `looking which engines are ready from ${client.label}`,
    async () => readinessFrom(start, await engines())
  );
  if (!readiness) return;
  if (readiness.isWhole) screen.report(readiness.line);
  else screen.warn(`${readiness.line}; ${handOnStep(client)}`);
}

/**
 * Reads the entry from the file, because the user may have extended it.
 * Returns undefined when the file has no entry that starts troupe.
 */
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

/**
 * The engine of the first task. Without prompts or --engine it is `rehearsal`,
 * which costs nothing, and only if a file was written.
 */
async function engineFor(
  hasWritten: boolean,
  { flags, screen, questions, engines }: SetUpContext
): Promise<string | undefined> {
  if (flags.engine !== undefined) return flags.engine;
  if (!questions) return hasWritten ? 'rehearsal' : undefined;
  const found = await screen.during('looking which engines are ready', engines);
  const ready = found.filter(
    ({ check: { kind, name, ready } }) =>
      kind === 'cli' && name !== 'rehearsal' && ready
  );
  return questions.engine(ready.map(({ check }) => check.name));
}

interface FirstTaskResult {
  code: number;
  first?: FirstTask;
  /** Replaces the usual last line. */
  end?: string;
}

async function tryFirst(
  start: Start,
  engine: string,
  { screen }: SetUpContext
): Promise<FirstTaskResult> {
  const { signal, exitCode } = catchInterruption();
  const first = await screen.during(`${engine} looks at this project`, () =>
    tryOut(start, engine, signal)
  );
  if (!first) {
    const end = 'interrupted: the agent was stopped';
    return { code: exitCode() ?? exitCodes.error, end };
  }
  const { status, problem, entry } = first;
  if (problem !== null) {
    screen.warn(`the first task was not done: ${problem}`);
    return { code: exitCodes.error, first };
  }
  const heading = `${engine} has ended as ${status}; logs/IAC.md says:`;
  await screen.quote(heading, entry ?? '');
  const isDone = status === 'completed';
  return { code: isDone ? exitCodes.done : exitCodes.failed, first };
}
