import { reportChanges } from '../core/changes/change-file.ts';
import type { RunTracker } from '../core/runs/end/run-tracker.ts';
import {
  chatIdOf,
  type Outcome,
  type Run,
  type RunRecord
} from '../core/runs/run.ts';
import type { RunStore } from '../core/runs/run-store.ts';
import { shortName } from '../core/text.ts';
import {
  type Answer,
  evenShare,
  type Facts,
  fitInto,
  type Put
} from './budget.ts';
import { ofAgent, type Reading, readWords, type Words } from './read-output.ts';
import { linePart, listPart } from './truncate.ts';

/** Characters of agents' text in one answer. */
export const inlineChars = 20_000;

/** The mark at the end of a cut error. */
export const errorCut =
  '… [cut: outcome.json in the folder of the agent has it all]';

/** The most characters of one denied action. */
const lineChars = 500;

/** The forms of an answer about a run, from the longest to the shortest. */
export interface Report {
  full: Answer;
  /** The status, the error and the output. */
  words: Answer;
  /** The status and the error. */
  error: Answer;
  /** The status. */
  bare: Answer;
}

/** A run as the tool `result` returns it, whether it is active or has ended. */
export async function reportRun(
  run: Run,
  store: RunStore,
  tracker: RunTracker,
  offset?: number
): Promise<Facts> {
  const reading = { offset, reach: inlineChars };
  const { full } = await readReport(run, store, tracker, reading);
  return fitInto(full, inline);
}

/** Several runs as `results`; their texts share the budget of one answer. */
export async function reportRuns(
  runs: Run[],
  store: RunStore,
  tracker: RunTracker
): Promise<Facts> {
  const reading = { reach: reachOf(runs) };
  const reports = await Promise.all(
    runs.map((run) => readReport(run, store, tracker, reading))
  );
  return fitInto(
    (put) => ({ results: reports.map(({ full }) => full(put)) }),
    inline
  );
}

const inline = { chars: inlineChars, bytes: Number.POSITIVE_INFINITY };

export async function readReport(
  run: Run,
  store: RunStore,
  tracker: RunTracker,
  reading: Reading = { reach: inlineChars }
): Promise<Report> {
  const { record, outcome } = run;
  if (!outcome) {
    const facts = reportActive(run, tracker);
    const answer = () => facts;
    return { full: answer, words: answer, error: answer, bare: answer };
  }
  const directory = store.directoryOf(record.agent_id);
  await tracker.paged(record.agent_id);
  // Otherwise the report could name a worktree that is just being removed.
  if (record.worktree) await tracker.followUp(record, outcome);
  const shownAs = store.answerFile(record.agent_id, outcome);
  const words = await readWords(directory, outcome, { ...reading, shownAs });
  const changes = reportChanges(record, directory);
  const bare = () => ({
    agent_id: record.agent_id,
    agent_type: record.engine,
    status: outcome.status,
    error_code: outcome.error_code
  });
  const error: Answer = (put) => ({
    ...bare(),
    ...(outcome.error === null
      ? {}
      : { ...ofAgent, ...put(linePart('error', outcome.error)) })
  });
  return {
    full: (put) => reportEnded({ ...run, outcome }, words, changes, put),
    words: (put) => ({
      ...error(put),
      ...(outcome.result_chars === 0
        ? {}
        : { ...ofAgent, ...put(words.short('result')) })
    }),
    error,
    bare
  };
}

/** The most characters of one result in an answer about all these runs. */
export function reachOf(runs: Run[]): number {
  const lengths = runs.map(({ outcome }) => outcome?.result_chars ?? 0);
  return Math.min(inlineChars, evenShare(lengths, inlineChars));
}

/** Seconds since a run was created. */
export function secondsSince(record: RunRecord): number {
  const since = Date.now() - Date.parse(record.created_at);
  return Math.max(0, Math.round(since / 1000));
}

function reportActive(run: Run, tracker: RunTracker): Facts {
  const { record, status } = run;
  const progress = tracker.lastWords(record);
  const doing = progress ? ` Last seen: "${progress}".` : '';
  return {
    agent_id: record.agent_id,
    agent_type: record.engine,
    ...membershipOf(run),
    status,
    elapsed_seconds: secondsSince(record),
    ...(progress ? { ...ofAgent, progress } : {}),
    message:
      status === 'queued'
        ? `Waiting for ${record.comes_after ? 'its turn or ' : ''}a free slot, or being prepared; it starts by itself.`
        : status === 'asking'
          ? `Waiting for an answer to what it asks.${doing}`
          : `Still running.${doing}`
  };
}

/** The squad of a member, and the chat in which the squad can continue. */
function membershipOf(run: Run): Facts {
  const { squad, in_chat } = run.record;
  return { ...squad, ...(in_chat ? { chatId: chatIdOf(run) } : {}) };
}

function reportEnded(
  run: Run & { outcome: Outcome },
  words: Words,
  {
    files_changed: files,
    files_changed_note: note,
    ...changes
  }: ReturnType<typeof reportChanges>,
  put: Put
): Facts {
  const { record, outcome } = run;
  const { error, session_id: session } = outcome;
  const denials = outcome.denials.map((one) => shortName(one, lineChars));
  return {
    agent_id: record.agent_id,
    agent_type: record.engine,
    ...membershipOf(run),
    model: shortName(outcome.model ?? 'default'),
    success: outcome.status === 'completed',
    status: outcome.status,
    ...ofAgent,
    ...put(linePart('error', error, errorCut)),
    error_code: outcome.error_code,
    full_output: words.path,
    ...put(words.full('result')),
    cost_usd: outcome.cost_usd,
    usage: outcome.usage,
    duration_seconds: outcome.duration_ms / 1000,
    started_at: outcome.started_at ?? record.created_at,
    completed_at: outcome.completed_at,
    ...(session === null ? {} : { session_id: shortName(session) }),
    ...(denials.length === 0 ? {} : put(listPart('denials', denials, true))),
    ...(files ? put(listPart('files_changed', files, true)) : {}),
    ...changes,
    ...(note ? put(linePart('files_changed_note', note)) : {})
  };
}
