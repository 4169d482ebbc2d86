import { join } from 'node:path';
import type { Engine, Failure, Reply, Usage } from '../../plugin.ts';
import type { AgentPages } from '../audit/agent-page.ts';
import {
  type FinishedRecord,
  type Journal,
  spawnedEvent
} from '../audit/journal.ts';
import { longErrorOf } from '../audit/long-error.ts';
import type { Witness } from '../changes/witness.ts';
import { classifyWith } from '../engines/failure-codes.ts';
import { readIfThere } from '../state/atomic-file.ts';
import { readSlice, sizeOf, tailOf } from '../state/text-file.ts';
import { chatOf } from './create-chat.ts';
import { isEndJournalled } from './journalled-end.ts';
import { type Evidence, judge } from './judge.ts';
import { ownFile } from './own-file.ts';
import type { Processes } from './ports.ts';
import { ReplyReader, readableOf } from './reply-reader.ts';
import { saveResult } from './result-file.ts';
import type { Outcome, RunRecord } from './run.ts';
import {
  addEvent,
  claimOf,
  exitCodeOf,
  exitedAt,
  startedAt,
  stopRequestOf,
  wasJournalled
} from './run-files.ts';
import type { RunStore } from './run-store.ts';
import { noteFirstTurn, usageBefore } from './session-turns.ts';

export interface SettleDependencies {
  processes: Pick<Processes, 'self'>;
  store: RunStore;
  witness: Witness;
  journal: Journal;
  /** Views of single agents, written when their end is recorded. */
  pages?: AgentPages;
  /** What reads its output; undefined when that is not known here. */
  engineOf: (record: RunRecord) => Engine | undefined;
}

/**
 * Writes down how a run ended. Pure in the folder's files: whoever calls it,
 * however often, in however many processes, the first outcome stands and is
 * journalled once.
 */
export async function settle(
  agentId: string,
  { store, journal, pages, engineOf, witness, processes }: SettleDependencies
): Promise<Outcome> {
  const before = store.outcomeOf(agentId);
  if (before) return before;
  const record = store.recordOf(agentId);
  if (!record) throw new Error(`No record of agent ${agentId}`);
  const directory = store.directoryOf(agentId);
  const engine = engineOf(record);
  await witness.conclude(record);
  const said = await finalReply(record.kind, engine, directory);
  const concluded = await conclude(record, directory, engine, said, store);
  const settled_by = processes.self;
  const outcome = withoutSecrets({ ...concluded, settled_by }, journal);
  if (record.in_chat) noteChat(record, outcome, store);
  if (!store.end(agentId, outcome)) return store.outcomeOf(agentId) ?? outcome;
  addEvent(directory, { type: 'finished', status: outcome.status });
  await journalEnd(record, outcome, { journal, store });
  store.close(agentId);
  // A disk that does not take it now gets it with the next look at the views.
  await pages?.write(agentId).catch(() => undefined);
  return outcome;
}

/** Before the end is known, so that who goes on then finds it. */
function noteChat(record: RunRecord, outcome: Outcome, store: RunStore): void {
  try {
    noteFirstTurn(record, outcome, store);
  } catch {
    // A full disk may not keep a run from ending.
  }
}

/** An engine's last words may hold a key, and an error goes to many places. */
function withoutSecrets(outcome: Outcome, { redact }: Journal): Outcome {
  const { error } = outcome;
  return error === null ? outcome : { ...outcome, error: redact(error) };
}

/**
 * Journals an end that was recorded by a process killed right after, and
 * takes the mark away. Only for outcomes that are not being written now.
 */
export async function finishSettling(
  agentId: string,
  { store, journal }: SettleDependencies
): Promise<void> {
  const [outcome, record] = [store.outcomeOf(agentId), store.recordOf(agentId)];
  if (!outcome || !record) return;
  const isTold = await isEndJournalled(agentId, journal.files);
  // Another process may have done it meanwhile, and others cleaned up since.
  if (!isTold && store.isOpen(agentId))
    await journalEnd(record, outcome, { journal, store });
  store.close(agentId);
}

/** A server killed before it could journal the spawn left that to us, too. */
async function journalEnd(
  record: RunRecord,
  outcome: Outcome,
  { journal, store }: Pick<SettleDependencies, 'journal' | 'store'>
): Promise<void> {
  const { agent_id: id } = record;
  const directory = store.directoryOf(id);
  if (!wasJournalled(directory)) {
    const prompt = readIfThere(join(directory, 'prompt.txt')) ?? '';
    const path = `spawns/${id}/prompt.txt`;
    journal.append(spawnedEvent(record, journal.textOf(prompt, path)));
  }
  store.sizes.note(id);
  journal.append(await finishedEvent(id, outcome, directory, journal));
}

export async function finishedEvent(
  agentId: string,
  outcome: Outcome,
  directory: string,
  journal: Journal
): Promise<FinishedRecord> {
  const { status, error, error_code, model, exit_code } = outcome;
  const { cost_usd, usage, duration_ms, completed_at } = outcome;
  const path = ownFile(directory, outcome.result_file);
  const long = outcome.result_chars > 50_000;
  const text =
    long || path === undefined ? '' : (await readSlice(path, 0, 50_000)).text;
  const folder = `spawns/${agentId}`;
  const relative = `${folder}/${outcome.result_file}`;
  return {
    type: 'finished',
    agent_id: agentId,
    ...{ status, error, error_code, model, exit_code },
    ...longErrorOf(error, `${folder}/outcome.json`),
    ...{ cost_usd, usage, duration_ms, completed_at },
    result: long
      ? { chars: outcome.result_chars, path: relative }
      : journal.textOf(text, relative)
  };
}

/** All that an engine put out. */
type Said = Pick<Evidence, 'reply' | 'strayText'>;

async function finalReply(
  kind: RunRecord['kind'],
  engine: Engine | undefined,
  directory: string
): Promise<Said> {
  const readable = readableOf(kind, engine);
  if (readable) {
    const reader = new ReplyReader(readable, directory);
    const reply = await reader.read(true);
    // Who puts out no events says why it fails in plain words.
    const plain = () => tailOf(join(directory, 'stdout'), 8192);
    return { reply, strayText: readable.read ? reader.stray : plain() };
  }
  const failure: Failure = {
    code: 'bad_output',
    message:
      'Its engine is not configured any more, so its output was not read; the raw output is kept.'
  };
  return { reply: { text: '', finished: false, failure }, strayText: '' };
}

async function conclude(
  record: RunRecord,
  directory: string,
  engine: Engine | undefined,
  said: Said,
  store: RunStore
): Promise<Outcome> {
  const { reply } = said;
  const claim = claimOf(directory, record.owner.place);
  const verdict = judge({
    ...said,
    exitCode: exitCodeOf(directory),
    stop: stopRequestOf(directory),
    neverStarted: claim === undefined || claim.never,
    errorText: tailOf(join(directory, 'stderr'), 8192),
    classify: classifyWith(engine),
    label: record.label,
    versioned: engine?.kind === 'cli' && engine.probe?.verified !== undefined,
    maySayNothing: record.template !== undefined,
    isMember: record.squad !== undefined
  });
  const result = await saveResult(engine, directory, reply);
  const started = claim?.supervisor ? startedAt(directory) : undefined;
  const ended = exitedAt(directory) ?? new Date();
  return {
    v: 1,
    ...verdict,
    ...result,
    exit_code: exitCodeOf(directory) ?? null,
    model: reply.model ?? record.model,
    session_id:
      reply.sessionId ??
      record.session_id ??
      // One that was made for it and never heard of it is not its own.
      (started && chatOf(directory)) ??
      begun(record, directory),
    ...usageOf(reply, usageBefore(record, store)),
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

/** Who has put out nothing has begun no session. */
function begun(record: RunRecord, directory: string): string | null {
  const spoke = sizeOf(join(directory, 'stdout')) > 0;
  return spoke ? (record.new_session_id ?? null) : null;
}

/** Engines that count a whole session: this run is what was added. */
function usageOf(
  reply: Reply,
  previous: Usage | undefined
): Pick<Outcome, 'usage' | 'session_usage'> {
  if (!reply.usage) return { usage: null, session_usage: previous ?? null };
  if (reply.usageScope !== 'session')
    return { usage: reply.usage, session_usage: null };
  const usage: Usage = previous
    ? {
        prompt_tokens: reply.usage.prompt_tokens - previous.prompt_tokens,
        completion_tokens:
          reply.usage.completion_tokens - previous.completion_tokens,
        total_tokens: reply.usage.total_tokens - previous.total_tokens
      }
    : reply.usage;
  return { usage, session_usage: reply.usage };
}
