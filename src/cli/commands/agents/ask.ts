import type { Command } from 'commander';
import { reportRuns } from '../../../answers/format-run.ts';
import {
  askEngines,
  verdictIn
} from '../../../core/opinions/second-opinion.ts';
import type { Run } from '../../../core/runs/run.ts';
import { noteRead, ownFile } from '../../../core/runs/run-files.ts';
import { terminalLine } from '../../../core/text.ts';
import type { Host } from '../../../host/host.ts';
import { exitCodeOf } from '../../output/agents.ts';
import { print, printAnswer, printJson, report } from '../../output/output.ts';
import {
  catchInterruption,
  exitWith,
  type Interruption
} from '../../process/process-end.ts';
import {
  addWorkspaceFlags,
  exitCodes,
  parseSeconds,
  type WorkspaceFlags,
  withHost
} from '../command-options.ts';
import { promptFrom } from './follow.ts';
import { waitShowing } from './wait.ts';

interface AskFlags extends WorkspaceFlags {
  context: string[];
  systemPrompt?: string;
  timeout?: number;
}

export function addAsk(program: Command): void {
  const command = addWorkspaceFlags(
    program
      .command('ask')
      .description('ask several engines one question, side by side')
      .argument('[question]', 'read from stdin when it is - or missing')
      .option(
        '--context <file>',
        'give them this file of the workspace; may be repeated',
        (file: string, files: string[]) => [...files, file],
        []
      )
      .option('--timeout <seconds>', 'stop an agent after this', parseSeconds)
      .option('--system-prompt <text>', 'put before the question')
      .option('--json', 'print the answers as JSON'),
    [
      'troupe ask --engines claude,gemini "is this lock safe?" --context src/lock.ts',
      'git diff | troupe ask --engines codex,grok - --system-prompt "Review this."'
    ]
  );
  const engines = command.options.find(({ long }) => long === '--engines');
  if (engines)
    engines.description =
      'the engines to ask, comma separated (default: up to three ready ones)';
  command.action(async (question: string | undefined, flags: AskFlags) =>
    exitWith(await ask(await promptFrom(question), flags))
  );
}

function ask(question: string, flags: AskFlags): Promise<number> {
  const interruption = catchInterruption();
  return withHost(flags, async (host) => {
    const named = flags.engines?.split(',').map((name) => name.trim());
    const { engines, ids, refusals } = await askEngines(
      {
        text: question,
        files: flags.context,
        engines: named?.filter(Boolean),
        clientName: '',
        systemPrompt: flags.systemPrompt,
        timeoutSeconds: flags.timeout
      },
      host
    );
    report(`asking ${engines.join(', ')}`);
    for (const refusal of refusals) report(refusal);
    const runs = await answered(host, ids, interruption);
    await host.attend();
    const isAll = runs.length === engines.length;
    return conclude(host, runs, { isAll, refusals }, interruption, flags);
  });
}

/** Waits for all agents; cancels them on Ctrl-C. */
async function answered(
  host: Host,
  agentIds: string[],
  { signal, beforeEnd }: Interruption
): Promise<Run[]> {
  host.watch();
  beforeEnd(() => {
    for (const id of agentIds)
      host.processes.stopAlone(host.store.directoryOf(id));
  });
  const { finished, waiting, lost } = await waitShowing(host, {
    agentIds,
    mode: 'all',
    timeoutMs: Number.POSITIVE_INFINITY,
    signal
  });
  for (const { message } of lost) report(message);
  const canceled = await Promise.all(
    waiting.map(({ record }) => host.cancel(record.agent_id, 'interrupted'))
  );
  const ended = [...finished, ...canceled];
  return agentIds.flatMap(
    (id) => ended.find((run) => run?.record.agent_id === id) ?? []
  );
}

async function conclude(
  host: Host,
  runs: Run[],
  { isAll, refusals }: { isAll: boolean; refusals: string[] },
  interruption: Interruption,
  { json }: AskFlags
): Promise<number> {
  process.exitCode =
    interruption.exitCode() ?? (isAll ? exitCodeOf(runs) : exitCodes.failed);
  if (json) {
    const { results } = await reportRuns(runs, host.store, host.tracker);
    await printJson({
      results,
      verdicts: runs.map((run) => ({
        agent_id: run.record.agent_id,
        engine: run.record.engine,
        verdict: verdictOf(host, run)
      })),
      ...(refusals.length > 0 ? { not_started: refusals } : {})
    });
  } else for (const run of runs) await printOpinion(host, run);
  for (const { record } of runs) noteRead(record.agent_id, host.store);
  return process.exitCode;
}

async function printOpinion(
  host: Host,
  { record, status, outcome }: Run
): Promise<void> {
  await print(`## ${record.engine}\n\n`);
  if (!outcome) return;
  if (outcome.result_chars > 0) await printAnswer(host.store, record, outcome);
  if (outcome.error !== null)
    await print(
      `(${status}: ${terminalLine(outcome.error)} [${outcome.error_code}])\n`
    );
  await print('\n');
}

function verdictOf(host: Host, { record, status, outcome }: Run) {
  const directory = host.store.directoryOf(record.agent_id);
  const path = outcome && ownFile(directory, outcome.result_file);
  return status === 'completed' && path ? verdictIn(path) : null;
}
