import type { z } from 'zod';
import type { outcomeSchema, recordSchema } from './run-schema.ts';

type Schema<Make extends () => z.ZodType> = z.infer<ReturnType<Make>>;

/** The request of a spawn: see run-schema.ts. */
export type RunRecord = Schema<typeof recordSchema>;

/** How a run ended: see run-schema.ts. */
export type Outcome = Schema<typeof outcomeSchema>;

/** A worktree that one agent works in. */
export type Worktree = NonNullable<RunRecord['worktree']>;

/** The squad that a run is a member of. */
export type Membership = NonNullable<RunRecord['squad']>;

/** The client of a server that a run belongs to. */
export type Caller = NonNullable<RunRecord['caller']>;

export function isAgentId(text: string): boolean {
  return /^[0-9a-f]{8}$/.test(text);
}

export type EndStatus = Outcome['status'];

/** `asking` is for lists: a running agent that waits for an answer. */
export type RunStatus = 'queued' | 'running' | 'asking' | EndStatus;

/** `read (enforced)`: what a run may do, and how that is enforced. */
export function describeAccess(access: string, enforcement: string): string {
  const how = access === 'full' ? 'no limit to enforce' : enforcement;
  return `${access} (${how})`;
}

/** Exit code of a run whose engine was never started. */
export const notPrepared = 125;

/**
 * Exit code of a supervisor that could not record its claim, as on a full disk
 * (EX_TEMPFAIL). It has started nothing, and left no claim.
 */
export const notClaimed = 75;

/** A run as it stands now: its request, and its outcome if it has ended. */
export interface Run {
  record: RunRecord;
  status: RunStatus;
  outcome?: Outcome;
  /** This process does not know its engine, so the outcome is not recorded. */
  isUnjudged?: true;
}

/** Runs without a recorded end, and runs whose end was recorded just now. */
export interface OpenRuns {
  /** Queued or running, oldest first. */
  active: readonly Run[];
  /** Ids of ended runs. Their end may not be recorded yet. */
  over: readonly string[];
}

/**
 * The chat in which a run can be continued. A failed turn is continued in the
 * chat that the run was asked to continue. An API chat is named after its first
 * agent and exists once that agent has answered.
 */
export function chatIdOf({ record, outcome }: Run): string | null {
  const requested = askedChatOf(record);
  const seen = outcome?.session_id ?? null;
  if (outcome?.status === 'completed') return seen ?? requested;
  return requested ?? (record.kind === 'api' ? null : seen);
}

/** The chat that a run was asked to continue; null for a new chat. */
export function askedChatOf({
  agent_id,
  session_id
}: RunRecord): string | null {
  return session_id === agent_id ? null : session_id;
}
