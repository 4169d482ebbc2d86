import { reportChanges } from '../changes/report-changes.ts';
import { chatIdOf } from './chat-id.ts';
import { type Answer, evenShare, type Facts, tellWithin } from './fit.ts';
import { linePart, listPart, shortName } from './parts.ts';
import type { Outcome, Run, RunRecord } from './run.ts';
import type { RunStore } from './run-store.ts';
import type { RunTracker } from './run-tracker.ts';
import { ofAgent, type Reading, readWords, type Words } from './words.ts';

/** Characters of agents' text that one answer carries inline. */
export const inlineChars = 20_000;

/** Stands at the end of a long error. */
export const errorCut =
  '… [cut: outcome.json in the folder of the agent has it all]';

/** Characters of one line of a live agent, and of one refused action. */
const lineChars = 500;

/** A run, read once, in the forms that an answer may have it. */
export interface Report {
  full: Answer;
  /** How it ended and what it said: what a caller needs first. */
  words: Answer;
  /** How it ended and why. */
  error: Answer;
  /** How it ended. */
  bare: Answer;
}

/** A run as `result` answers it, whether it runs or has ended. */
export async function reportRun(
  run: Run,
  store: RunStore,
  tracker: RunTracker,
  offset?: number
): Promise<Facts> {
  const reading = { offset, reach: inlineChars };
  const { full } = await readReport(run, store, tracker, reading);
  return tellInline(full);
}

/** Several runs as `results`; their texts share what one answer carries. */
export async function reportRuns(
  runs: Run[],
  store: RunStore,
  tracker: RunTracker
): Promise<Facts> {
  const reading = { reach: reachOf(runs) };
  const reports = await Promise.all(
    runs.map((run) => readReport(run, store, tracker, reading))
  );
  return tellInline((told) => ({
    results: reports.map(({ full }) => full(told))
  }));
}

function tellInline(answer: Answer): Facts {
  const room = { chars: inlineChars, bytes: Number.POSITIVE_INFINITY };
  return tellWithin([{ answer, least: 0 }], room);
}

export async function readReport(
  run: Run,
  store: RunStore,
  tracker: RunTracker,
  reading: Reading = { reach: inlineChars }
): Promise<Report> {
  const { record, outcome } = run;
  if (!outcome) {
    const facts = await reportActive(run, tracker);
    const told = () => facts;
    return { full: told, words: told, error: told, bare: told };
  }
  const directory = store.directoryOf(record.agent_id);
  await tracker.paged(record.agent_id);
  const shownAs = store.answerFile(record.agent_id, outcome);
  const words = await readWords(directory, outcome, { ...reading, shownAs });
  const changes = reportChanges(record, directory);
  const bare: Answer = () => tellBare(record, outcome);
  const error: Answer = (told) => ({
    ...bare(told),
    ...(outcome.error === null
      ? {}
      : { ...ofAgent, ...told(linePart('error', outcome.error)) })
  });
  return {
    full: (told) => tellEnded({ ...run, outcome }, words, changes, told),
    words: (told) => ({
      ...error(told),
      ...(outcome.result_chars === 0
        ? {}
        : { ...ofAgent, ...told(words.short('result')) })
    }),
    error,
    bare
  };
}

/** Of so many answers in one, the characters that a long one may have. */
export function reachOf(runs: Run[]): number {
  const lengths = runs.map(({ outcome }) => outcome?.result_chars ?? 0);
  return Math.min(inlineChars, evenShare(lengths, inlineChars));
}

/** Seconds an active run has been there. */
export function secondsSince(record: RunRecord): number {
  const since = Date.now() - Date.parse(record.created_at);
  return Math.max(0, Math.round(since / 1000));
}

async function reportActive(run: Run, tracker: RunTracker): Promise<Facts> {
  const { record, status } = run;
  const { progress: seen } = (await tracker.reply(record.agent_id)) ?? {};
  const progress = seen && shortName(seen, lineChars);
  const next = `Next: wait_for_agents {"agent_ids":["${record.agent_id}"]}.`;
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
        ? `Waiting for ${record.comes_after ? 'its turn or ' : ''}a free place; it starts by itself. ${next}`
        : `Still running. ${next}${doing}`
  };
}

/** Whose member it is, and the chat that its squad can go on in. */
function membershipOf(run: Run): Facts {
  const { squad, in_chat } = run.record;
  return { ...squad, ...(in_chat ? { chatId: chatIdOf(run) } : {}) };
}

function tellEnded(
  run: Run & { outcome: Outcome },
  words: Words,
  { files_changed: files, files_changed_note: note, ...changes }: Changes,
  told: Parameters<Answer>[0]
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
    ...told(linePart('error', error, errorCut)),
    error_code: outcome.error_code,
    full_output: words.path,
    ...told(words.full('result')),
    cost_usd: outcome.cost_usd,
    usage: outcome.usage,
    duration_seconds: outcome.duration_ms / 1000,
    started_at: outcome.started_at ?? record.created_at,
    completed_at: outcome.completed_at,
    ...(session === null ? {} : { session_id: shortName(session) }),
    ...(denials.length === 0 ? {} : told(listPart('denials', denials, true))),
    ...(files ? told(listPart('files_changed', files, true)) : {}),
    ...changes,
    ...(note ? told(linePart('files_changed_note', note)) : {})
  };
}

type Changes = ReturnType<typeof reportChanges>;

function tellBare(record: RunRecord, outcome: Outcome): Facts {
  return {
    agent_id: record.agent_id,
    agent_type: record.engine,
    status: outcome.status,
    error_code: outcome.error_code
  };
}
