import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type {
  CliEngine,
  Engine,
  Failure,
  Reply,
  Usage
} from '../../../plugin/plugin.ts';
import { changesOf } from '../../changes/change-file.ts';
import { placeOf } from '../../changes/own-worktree.ts';
import { classifyWith } from '../../engines/failures.ts';
import {
  bytesIfThere,
  createWithoutSync,
  hexDigits,
  writeNew
} from '../../state/files/atomic-file.ts';
import { ownReadFlags, readRegular } from '../../state/files/regular-file.ts';
import { sizeOf, TextLength, tailOf } from '../../state/files/text-file.ts';
import type { Processes } from '../ports.ts';
import { loggedUsage, type Variables } from '../program.ts';
import type { Outcome, Run, RunRecord } from '../run.ts';
import {
  claimOf,
  exitCodeOf,
  exitedAt,
  startedAt,
  stopRequestOf
} from '../run-files.ts';
import { isHeritable, isUnseen } from '../run-state.ts';
import type { RunStore } from '../run-store.ts';
import { chatOf } from '../sessions/create-chat.ts';
import { usageBefore } from '../sessions/session-turns.ts';
import { isStarting } from '../start-marks.ts';
import { classifyOutcome, type Evidence } from './classify-outcome.ts';
import { withVariableHint } from './missing-variable.ts';
import { lossOf } from './output-loss.ts';
import { ReplyReader, readableOf } from './reply-reader.ts';

export interface OutcomeDependencies {
  processes: Pick<Processes, 'self' | 'liveness'>;
  store: RunStore;
  /** The engine that reads a run's output; undefined if it is not known. */
  engineOf: (record: RunRecord) => Engine | undefined;
  /** Variables that locate the files of an engine's programs. */
  variablesOf?: (engine: string) => Variables;
  /** Removes secrets from output that an error quotes. */
  redact?: (text: string) => string;
}

/**
 * Determines how a run ended from the files in its folder. Saves the final text
 * to a result file, but does not write the outcome.
 * @param lostTree the result of `lostTreeOf` before the diff was captured
 */
export async function readOutcome(
  record: RunRecord,
  lostTree: string | undefined,
  {
    processes,
    store,
    engineOf,
    variablesOf,
    redact = String
  }: OutcomeDependencies
): Promise<Outcome> {
  const directory = store.directoryOf(record.agent_id);
  const engine = engineOf(record);
  const output = await finalReply(record.kind, engine, directory);
  const unseen =
    exitCodeOf(directory) === undefined &&
    isUnseen(record, directory, processes);
  const result = await saveResult(engine, directory, output.reply);
  // Before a part is quoted: half a secret would not be recognized.
  const strayText = redact(output.strayText);
  const errorText = redact(errorTextOf(directory));
  const evidence = { ...output, strayText, errorText, unseen, lostTree };
  const variables = variablesOf?.(record.engine) ?? {};
  const facts = await conclude(record, engine, evidence, store, variables);
  return { ...facts, ...result, settled_by: processes.self };
}

/**
 * What is reported of an ended run whose engine this process does not know. It
 * is not recorded: a server that has the engine records the end.
 */
export async function unjudgedRun(
  record: RunRecord,
  store: RunStore
): Promise<Run> {
  const directory = store.directoryOf(record.agent_id);
  const failure: Failure = {
    code: 'bad_output',
    message: `The engine "${record.engine}" is not configured here, so its output was not read and its end is not judged. A server or command of this workspace that has the engine does that; this is the raw output, which is kept in ${join(directory, 'stdout')}.`
  };
  const reply = { text: '', finished: false, failure };
  const errorText = errorTextOf(directory);
  const evidence = { reply, strayText: '', errorText };
  const facts = await conclude(record, undefined, evidence, store);
  const outcome = { ...facts, ...(await rawResult(directory)) };
  return { record, status: outcome.status, outcome, isUnjudged: true };
}

/** The outcome of a run that could not start. */
export function outcomeOfRefused(record: RunRecord, failure: Failure): Outcome {
  return {
    v: 1,
    status: 'failed',
    error: failure.message,
    error_code: failure.code,
    result_file: 'result.txt',
    result_chars: 0,
    exit_code: null,
    model: record.model,
    session_id: null,
    usage: null,
    session_usage: null,
    cost_usd: null,
    denials: [],
    started_at: null,
    completed_at: record.created_at,
    duration_ms: 0,
    settled_by: record.owner
  };
}

/**
 * Path of a run's worktree, if that was deleted during the run. Call it before
 * the diff is captured, because that may remove an unchanged worktree.
 */
export function lostTreeOf(
  { worktree, owner }: RunRecord,
  directory: string
): string | undefined {
  if (!worktree || placeOf(worktree) !== 'deleted') return undefined;
  const hasStarted = claimOf(directory, owner.place)?.supervisor !== undefined;
  // Without changes, another process has captured the diff and removed it.
  const wasDeleted = changesOf(directory)?.total !== 0;
  return hasStarted && wasDeleted ? worktree.path : undefined;
}

/** The evidence that `conclude` does not read itself. */
type PartialEvidence = Pick<
  Evidence,
  'reply' | 'strayText' | 'errorText' | 'unseen' | 'lostTree'
>;

async function finalReply(
  kind: RunRecord['kind'],
  engine: Engine | undefined,
  directory: string
): Promise<Pick<Evidence, 'reply' | 'strayText'>> {
  const readable = readableOf(kind, engine);
  if (readable) {
    const reader = new ReplyReader(readable, directory);
    const reply = await reader.read(true);
    // An engine without events gives its reason in plain text.
    const plain = () => tailOf(join(directory, 'stdout'), 8192);
    return { reply, strayText: readable.read ? reader.stray : plain() };
  }
  // A run without a known engine gets here only if it never started.
  return { reply: { text: '', finished: false }, strayText: '' };
}

function errorTextOf(directory: string): string {
  return tailOf(join(directory, 'stderr'), 8192);
}

async function conclude(
  record: RunRecord,
  engine: Engine | undefined,
  partial: PartialEvidence,
  store: RunStore,
  variables: Variables = {}
): Promise<Omit<Outcome, keyof ResultFile>> {
  const { reply } = partial;
  const directory = store.directoryOf(record.agent_id);
  const claim = claimOf(directory, record.owner.place);
  const exitCode = exitCodeOf(directory);
  const judged = classifyOutcome({
    ...partial,
    exitCode,
    stop: stopRequestOf(directory),
    neverStarted: claim === undefined || claim.never,
    wasPrepared: isHeritable(record) && isStarting(directory),
    classify: classifyWith(engine),
    label: record.label,
    versioned: engine?.kind === 'cli' && engine.probe?.verified !== undefined,
    loss: claim?.supervisor && lossOf(directory, record.label),
    reportsItsEnd: record.kind === 'api',
    maySayNothing: record.template !== undefined,
    isMember: record.squad !== undefined
  });
  const verdict =
    record.kind === 'cli' ? withVariableHint(judged, record.engine) : judged;
  const started = claim?.supervisor ? startedAt(directory) : undefined;
  const ended = exitedAt(directory) ?? new Date();
  const session_id =
    reply.sessionId ??
    record.session_id ??
    // A chat that was created for a run that never started does not count.
    (started && chatOf(directory)) ??
    begunSession(record, directory);
  const usage =
    reply.usage ?? (await loggedUsage(engine, session_id, started, variables));
  return {
    v: 1,
    ...verdict,
    exit_code: exitCode ?? null,
    model: reply.model ?? record.model,
    session_id,
    ...usageOf(usage ? { ...reply, usage } : reply, usageBefore(record, store)),
    cost_usd: reply.costUsd ?? null,
    denials: reply.denials ?? [],
    started_at: started?.toISOString() ?? null,
    completed_at: ended.toISOString(),
    duration_ms: Math.max(
      0,
      ended.getTime() - (started?.getTime() ?? ended.getTime())
    )
  };
}

/** The id of the new session; null without output, which begins no session. */
function begunSession(record: RunRecord, directory: string): string | null {
  const hasOutput = sizeOf(join(directory, 'stdout')) > 0;
  return hasOutput ? (record.new_session_id ?? null) : null;
}

/** If an engine counts the whole session, a run's usage is the increase. */
function usageOf(
  reply: Reply,
  previous: Usage | undefined
): Pick<Outcome, 'usage' | 'session_usage'> {
  if (!reply.usage) return { usage: null, session_usage: previous ?? null };
  if (reply.usageScope !== 'session')
    return { usage: reply.usage, session_usage: null };
  const usage =
    previous && isAtLeast(reply.usage, previous)
      ? increaseOf(reply.usage, previous)
      : reply.usage;
  return { usage, session_usage: reply.usage };
}

/** False if the engine began to count the session again. */
function isAtLeast(now: Usage, previous: Usage): boolean {
  return (
    now.prompt_tokens >= previous.prompt_tokens &&
    now.completion_tokens >= previous.completion_tokens &&
    now.total_tokens >= previous.total_tokens
  );
}

function increaseOf(now: Usage, previous: Usage): Usage {
  return {
    prompt_tokens: now.prompt_tokens - previous.prompt_tokens,
    completion_tokens: now.completion_tokens - previous.completion_tokens,
    total_tokens: now.total_tokens - previous.total_tokens
  };
}

/** A plain engine's stdout up to this size is trimmed into result.txt. */
const plainResultBytes = 1024 * 1024;

/** A final text up to this size is in `outcome.json`, too. */
const shortResultBytes = 8 * 1024;

type ResultFile = Pick<Outcome, 'result_file' | 'result_chars' | 'result_text'>;

/**
 * Saves the final text without overwriting anything: another process may also
 * finalize the run and may have read another text.
 */
async function saveResult(
  engine: Engine | undefined,
  directory: string,
  reply: Reply
): Promise<ResultFile> {
  const stdout = join(directory, 'stdout');
  if (isPlain(engine) && sizeOf(stdout) > plainResultBytes)
    return rawResult(directory);
  // The bytes of a plain engine are kept, even when they are not UTF-8.
  const result =
    isPlain(engine) && existsSync(stdout)
      ? trimmed(readRegular(stdout, ownReadFlags))
      : Buffer.from(reply.text);
  const text = result.toString();
  const isShort =
    result.length <= shortResultBytes && Buffer.from(text).equals(result);
  return {
    result_file: writeResult(directory, result, !isShort),
    result_chars: text.length,
    ...(isShort ? { result_text: text } : {})
  };
}

/** Uses stdout itself as the final text. */
async function rawResult(directory: string): Promise<ResultFile> {
  const length = new TextLength(join(directory, 'stdout'));
  return { result_file: 'stdout', result_chars: await length.read(true) };
}

/**
 * @param durable false for a text that is on the disk with the outcome
 * @returns the name of the file that contains the text
 */
function writeResult(
  directory: string,
  result: Buffer,
  durable: boolean
): string {
  const name = 'result.txt';
  const path = join(directory, name);
  // The sync of the directory comes with `outcome.json`, which names the file.
  if (createWithoutSync(path, result, durable)) return name;
  if (bytesIfThere(path)?.equals(result)) return name;
  const other = `result-${hexDigits(12)}.txt`;
  writeNew(join(directory, other), result, durable);
  return other;
}

function trimmed(bytes: Buffer): Buffer {
  const isBlank = (byte: number) => byte === 32 || (byte >= 9 && byte <= 13);
  const first = bytes.findIndex((byte) => !isBlank(byte));
  const last = bytes.findLastIndex((byte) => !isBlank(byte));
  return bytes.subarray(Math.max(first, 0), last + 1);
}

function isPlain(engine: Engine | undefined): engine is CliEngine {
  return engine?.kind === 'cli' && engine.read === undefined;
}
