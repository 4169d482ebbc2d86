import type {
  Access,
  Enforcement,
  Failure,
  FailureCode,
  Usage
} from '../../plugin.ts';
import type { Worktree } from '../changes/ports.ts';

/** A process that cannot be mistaken for a later one with the same number. */
export interface ProcessIdentity {
  pid: number;
  /** Start time in the system's own notation, compared as text. */
  start: string;
  /** Machine, boot and process namespace; elsewhere nothing can be said. */
  place: string;
}

export function isSameProcess(
  one: ProcessIdentity,
  other: ProcessIdentity
): boolean {
  return (
    one.pid === other.pid &&
    one.start === other.start &&
    one.place === other.place
  );
}

export type RunStatus =
  | 'queued'
  | 'running'
  | 'completed'
  | 'failed'
  | 'timeout'
  | 'canceled'
  | 'interrupted';

export type EndStatus = Exclude<RunStatus, 'queued' | 'running'>;

/** Why we ended a run. Written before any signal is sent. */
export type StopReason =
  | 'canceled'
  | 'timeout'
  | 'idle_timeout'
  | 'output_limit'
  | 'retries'
  | 'disconnect';

/** The squad that a run is a member of, in the words of the wire. */
export interface Membership {
  squadId: string;
  memberId: string;
  roleId: string;
}

/** What was asked for. Written once, before the spawn is answered. */
export interface RunRecord {
  v: 1;
  agent_id: string;
  engine: string;
  label: string;
  kind: 'cli' | 'api';
  /** As shown: the resolved name, or null for the engine's default. */
  model: string | null;
  access: Access;
  enforcement: Enforcement;
  tools: string | null;
  cwd: string;
  /** The worktree that `cwd` lies in, when it has one of its own. */
  worktree?: Worktree;
  /** The template its arguments come from: then its stdout is its answer. */
  template?: string;
  /** Its program, when that is another one than its engine's. */
  program?: string;
  squad?: Membership;
  /** A member whose session is a chat, which has been told its role. */
  in_chat?: true;
  /** It waits for others to end before it wants a place. */
  comes_after?: true;
  /** First line of the prompt, or of a member's task. */
  task: string;
  prompt_chars: number;
  system_prompt: string | null;
  timeout_seconds: number;
  idle_timeout_seconds: number;
  /** Absent in records of earlier versions; so is `new_session_id`. */
  retry_seconds?: number;
  output_limit_bytes: number;
  on_disconnect: 'keep' | 'stop';
  request_id: string | null;
  created_at: string;
  owner: ProcessIdentity;
  parent: string | null;
  depth: number;
  /** The agent this one continues, and the engine's session. */
  continues: string | null;
  session_id: string | null;
  /** What its engine was told to call a new session. */
  new_session_id?: string | null;
}

/** How a run ended. Written once; the first writer wins. */
export interface Outcome {
  v: 1;
  status: EndStatus;
  error: string | null;
  error_code: FailureCode | null;
  /** File in the agent's folder that holds the whole answer. */
  result_file: 'result.txt' | 'stdout';
  result_chars: number;
  exit_code: number | null;
  model: string | null;
  session_id: string | null;
  usage: Usage | null;
  /** Counted over the whole session, for engines that only tell that. */
  session_usage: Usage | null;
  cost_usd: number | null;
  denials: string[];
  started_at: string | null;
  completed_at: string;
  duration_ms: number;
  /** Who wrote this and journals it next. */
  settled_by?: ProcessIdentity;
}

/** Exit code of a run whose engine never had its turn. */
export const notPrepared = 125;

export interface StopRequest {
  type: 'stop';
  why: StopReason;
  reason?: string | undefined;
  /** What it had failed with again and again. */
  failure?: Failure;
}

/** A run as it stands now: what was asked, and how it ended if it did. */
export interface Run {
  record: RunRecord;
  status: RunStatus;
  outcome?: Outcome;
}
