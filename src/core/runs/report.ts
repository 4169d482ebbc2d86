import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { reportChanges } from '../changes/report-changes.ts';
import { readEnds, readSlice } from '../state/text-file.ts';
import type { Outcome, Run, RunRecord } from './run.ts';
import type { RunStore } from './run-store.ts';
import type { RunTracker } from './run-tracker.ts';

/** Characters of agents' text that one answer carries inline. */
export const inlineChars = 20_000;

/** Stands between the two ends of a long text. */
const cut = '\n\n… [cut: the whole text is in full_output] …\n\n';

/** A run as `result` answers it, whether it runs or has ended. */
export async function reportRun(
  run: Run,
  store: RunStore,
  tracker: RunTracker,
  offset?: number,
  budget = inlineChars
): Promise<Record<string, unknown>> {
  if (!run.outcome) return reportActive(run, tracker);
  return reportEnded(run.record, run.outcome, store, offset, budget);
}

async function reportActive(
  run: Run,
  tracker: RunTracker
): Promise<Record<string, unknown>> {
  const { record, status } = run;
  const progress = (await tracker.reply(record.agent_id))?.progress;
  const next = `Next: wait_for_agents {"agent_ids":["${record.agent_id}"]}.`;
  const doing = progress ? ` Last seen: "${progress}".` : '';
  return {
    agent_id: record.agent_id,
    agent_type: record.engine,
    status,
    elapsed_seconds: secondsSince(record),
    ...(progress ? { progress } : {}),
    message:
      status === 'queued'
        ? `Waiting for a free place; it starts by itself. ${next}`
        : `Still running. ${next}${doing}`
  };
}

async function reportEnded(
  record: RunRecord,
  outcome: Outcome,
  store: RunStore,
  offset: number | undefined,
  budget: number
): Promise<Record<string, unknown>> {
  const path = join(store.directoryOf(record.agent_id), outcome.result_file);
  const text = await boundedText(path, outcome.result_chars, offset, budget);
  return {
    agent_id: record.agent_id,
    agent_type: record.engine,
    model: outcome.model ?? 'default',
    success: outcome.status === 'completed',
    status: outcome.status,
    error: outcome.error,
    error_code: outcome.error_code,
    full_output: path,
    ...text,
    cost_usd: outcome.cost_usd,
    usage: outcome.usage,
    duration_seconds: outcome.duration_ms / 1000,
    started_at: outcome.started_at ?? record.created_at,
    completed_at: outcome.completed_at,
    ...(outcome.session_id === null ? {} : { session_id: outcome.session_id }),
    ...(outcome.denials.length === 0 ? {} : { denials: outcome.denials }),
    ...reportChanges(record, store.directoryOf(record.agent_id), budget)
  };
}

/** Seconds an active run has been there. */
export function secondsSince(record: RunRecord): number {
  const since = Date.now() - Date.parse(record.created_at);
  return Math.max(0, Math.round(since / 1000));
}

/**
 * The whole text when it fits, else its two ends, or a part on request. That
 * it is cut is said before it: some clients show the beginning of an answer
 * only.
 */
async function boundedText(
  path: string,
  chars: number,
  offset: number | undefined,
  budget: number
): Promise<Record<string, unknown>> {
  if (!existsSync(path))
    return { result: '', message: `${path}, which held the answer, is gone.` };
  // Who gives one reads part after part, from 0 on as from anywhere.
  if (offset !== undefined) {
    const { text, totalChars } = await readSlice(path, offset, budget);
    if (text.length === totalChars) return { result: text };
    const next = offset + text.length;
    const more = next < totalChars;
    return {
      truncated: true,
      total_chars: totalChars,
      ...(more ? { next_offset: next, message: readOn(next) } : {}),
      result: text
    };
  }
  const room = chars > budget ? budget - cut.length : budget;
  const headChars = Math.ceil(room * 0.6);
  const { head, tail, totalChars } = await readEnds(
    path,
    headChars,
    room - headChars,
    chars
  );
  if (totalChars <= budget) return { result: head + tail };
  return {
    truncated: true,
    total_chars: totalChars,
    next_offset: head.length,
    message: `Only beginning and end. ${readOn(head.length)}`,
    result: `${head}${cut}${tail}`
  };
}

function readOn(offset: number): string {
  return `Call result with this agent_id and offset ${offset} to read on; full_output has all of it.`;
}
