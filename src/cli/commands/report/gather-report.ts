import { failureHints } from '../../../answers/report/failure-hints.ts';
import type {
  Relative,
  ReportData,
  ReportEntry,
  ReportText
} from '../../../answers/report/report-data.ts';
import { timeOf } from '../../../answers/report/report-page.ts';
import { type ParsedDiff, parseDiff } from '../../../answers/unified-diff.ts';
import { readBack } from '../../../core/audit/journal/journal-reader.ts';
import { parseRecord } from '../../../core/audit/journal/journal-record.ts';
import {
  longestSecret,
  type Redact
} from '../../../core/audit/redaction/redact.ts';
import { redactLong } from '../../../core/audit/redaction/redact-long.ts';
import { redactTurn } from '../../../core/audit/redaction/redact-turn.ts';
import { changesOf } from '../../../core/changes/change-file.ts';
import { readerOf } from '../../../core/engines/template/template-engine.ts';
import { describeAccess, type Run } from '../../../core/runs/run.ts';
import { ownFile, startedAt } from '../../../core/runs/run-files.ts';
import {
  turnsOf,
  turnsReaderOf,
  withShortPath
} from '../../../core/runs/turns/turn-page.ts';
import { readEnds, readSlice } from '../../../core/state/files/text-file.ts';
import { grouped } from '../../../core/text.ts';
import type { Host } from '../../../host/host.ts';
import { version } from '../../../host/package.ts';
import { eventNameOf, whatOf } from '../../output/journal-lines.ts';
import { dollars, duration } from '../../output/text.ts';
import { patchName, whyNoPatch } from '../changes/diff.ts';

/** A text is cut to so many characters at each end. */
const endChars = 200_000;
const diffChars = 8_000_000;
const diffLimits = { filesAtMost: 500, linesPerFile: 2000, lines: 20_000 };
const mostTurns = 500;
const mostRelatives = 200;
const mostEntries = 500;

/** All that a report shows of a run, without secrets. */
export async function gatherReport(host: Host, run: Run): Promise<ReportData> {
  const { record, outcome, status } = run;
  const { agent_id: id } = record;
  const { redact } = host.journal;
  const directory = host.store.directoryOf(id);
  const facts = Object.entries(factsOf(run, directory)).map(
    ([name, value]) => [name, value && redact(value)] as const
  );
  return {
    id,
    task: redact(record.task),
    status,
    summary: summaryOf(run).map((fact) => redact(fact)),
    facts: Object.fromEntries(facts),
    prompt: await textIn(directory, 'prompt.txt', record.prompt_chars, redact),
    answer:
      outcome &&
      (await textIn(
        directory,
        outcome.result_file,
        outcome.result_chars,
        redact
      )),
    error: errorOf(run, redact),
    denials: (outcome?.denials ?? []).map((denial) => redact(denial)),
    turns: await turnsIn(host, run, directory),
    ...(await changesIn(run, directory, redact)),
    relatives: relativesOf(host, run),
    entries: entriesOf(host, run),
    footer: `Written by troupe ${version} at ${timeOf(new Date().toISOString())}. Times are in UTC. Known secrets and common token formats were removed; check it before you hand it on.`
  };
}

function summaryOf({ record, outcome }: Run): string[] {
  const model = outcome?.model ?? record.model;
  return [
    model === null ? record.label : `${record.label} (${model})`,
    ...(outcome ? [duration(outcome.duration_ms / 1000)] : []),
    ...(outcome ? [dollars(outcome.cost_usd) || 'cost unknown'] : [])
  ];
}

function factsOf({ record, outcome }: Run, directory: string) {
  const { squad, caller, worktree } = record;
  const started = outcome?.started_at ?? startedAt(directory)?.toISOString();
  const facts: Record<string, string | undefined> = {
    Engine: `${record.label} [${record.kind.toUpperCase()}]`,
    Model: outcome?.model ?? record.model ?? 'default of the engine',
    Access: describeAccess(record.access, record.enforcement),
    Tools: record.tools ?? undefined,
    Spawned: timeOf(record.created_at),
    Started: started ? timeOf(started) : undefined,
    Ended: outcome && timeOf(outcome.completed_at),
    Duration: outcome && duration(outcome.duration_ms / 1000),
    Tokens: outcome && tokensOf(outcome.usage),
    Cost: outcome && (dollars(outcome.cost_usd) || 'unknown'),
    'Exit code': outcome?.exit_code?.toString(),
    Directory: record.cwd,
    Branch: worktree?.branch,
    Program: record.template === undefined ? undefined : record.command,
    Client: caller?.client,
    Squad: squad && `${squad.squadId} (${squad.roleId})`
  };
  return facts;
}

function tokensOf(usage: NonNullable<Run['outcome']>['usage']): string {
  if (!usage) return 'unknown';
  return `${grouped(usage.prompt_tokens)} in, ${grouped(usage.completion_tokens)} out`;
}

function errorOf({ outcome }: Run, redact: Redact): ReportData['error'] {
  if (!outcome || outcome.error === null) return undefined;
  const code = outcome.error_code;
  return {
    message: redact(outcome.error),
    code: code ?? outcome.status,
    hint: code === null ? '' : failureHints[code]
  };
}

async function textIn(
  directory: string,
  name: string,
  chars: number,
  redact: Redact
): Promise<ReportText | undefined> {
  const path = ownFile(directory, name);
  if (path === undefined) return undefined;
  // More than is shown, to recognize secrets that span a cut.
  const reach = endChars + longestSecret;
  const { head, tail, totalChars } = await readEnds(path, reach, reach, chars);
  if (totalChars <= 2 * endChars) {
    const whole = await redactLong(head + tail, redact);
    return { head: whole.join(''), tail: '', charsLeftOut: 0 };
  }
  const start = Math.max(0, tail.length - endChars);
  return {
    head: redact(head, 0, endChars),
    tail: redact(tail, start),
    charsLeftOut: totalChars - endChars - (tail.length - start)
  };
}

async function turnsIn(
  { registry, journal }: Host,
  { record }: Run,
  directory: string
): Promise<ReportData['turns']> {
  const read = turnsReaderOf(record, readerOf(record, registry));
  if (!read) return undefined;
  const { turns, more } = await turnsOf(directory, read, { limit: mostTurns });
  const clean = turns.map((turn) =>
    redactTurn(withShortPath(turn, record.cwd), journal.redact)
  );
  return { turns: await Promise.all(clean), more };
}

async function changesIn(
  run: Run,
  directory: string,
  redact: Redact
): Promise<{ diff: ParsedDiff | undefined; changesNote: string | undefined }> {
  const none = { diff: undefined, changesNote: undefined };
  if (!run.outcome) return none;
  const patch = patchName(directory);
  const path = patch && ownFile(directory, patch);
  if (path === undefined)
    return { ...none, changesNote: redact(whyNoPatch(run, directory)) };
  const { text, totalChars } = await readSlice(path, 0, diffChars);
  const notes = [
    changesOf(directory)?.note,
    text.length < totalChars ? 'The end of the patch is left out.' : undefined
  ].filter((note) => note !== undefined);
  const clean = await redactLong(text, redact);
  return {
    diff: parseDiff(clean.join(''), diffLimits),
    changesNote: notes.length > 0 ? redact(notes.join(' ')) : undefined
  };
}

function relativesOf({ store, journal }: Host, { record }: Run): Relative[] {
  const relative = (relation: string, id: string): Relative => {
    const found = store.recordOf(id);
    const status = store.outcomeOf(id)?.status ?? 'not ended';
    return {
      id,
      relation,
      task: journal.redact(found?.task ?? ''),
      status: found && status
    };
  };
  const { agent_id: own, parent, continues } = record;
  const later = store
    .ids()
    .flatMap((id) => store.recordOf(id) ?? [])
    .filter((other) => other.parent === own || other.continues === own)
    .sort((a, b) => a.created_at.localeCompare(b.created_at))
    .slice(0, mostRelatives)
    .map((other) =>
      relative(
        other.continues === own ? 'Continued by' : 'Spawned',
        other.agent_id
      )
    );
  return [
    ...(parent === null ? [] : [relative('Spawned by', parent)]),
    ...(continues === null ? [] : [relative('Continues', continues)]),
    ...later
  ];
}

/** The run's records in the journal, read back to its spawn. */
function entriesOf({ journal }: Host, { record }: Run): ReportEntry[] {
  const { agent_id: id, created_at: since } = record;
  const newestFirst: ReportEntry[] = [];
  readBack(journal.files, (lines) => {
    let isBefore = false;
    for (const line of lines.toReversed()) {
      const entry = parseRecord(line);
      if (!entry) continue;
      if (entry.at < since) isBefore = true;
      if (entry.agent_id !== id || newestFirst.length >= mostEntries) continue;
      newestFirst.push({
        at: entry.at,
        event: eventNameOf(entry),
        text: journal.redact(whatOf(entry))
      });
      if (entry.type === 'spawned') return true;
    }
    return isBefore;
  });
  return newestFirst.reverse();
}
