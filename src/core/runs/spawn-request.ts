import type {
  Access,
  CliEngine,
  Engine,
  EngineRequest,
  Failure
} from '../../plugin/plugin.ts';
import type {
  Caller,
  Membership,
  Outcome,
  RunRecord,
  RunStatus,
  Worktree
} from './run.ts';

/** An agent that has to end before another one starts. */
export interface Earlier {
  agentId: string;
  /** Milliseconds between its end and the start. */
  delayMs: number;
}

export interface Command {
  command: string;
  args: string[];
}

/** A run that has not started. */
export interface Waiting {
  record: RunRecord;
  engine: Engine;
  request: EngineRequest;
  /** Agents that have to end before it starts. */
  after: Earlier[];
  /** The command that creates its session. */
  createChat?: Command | undefined;
  /** Spawned by an agent, which keeps its own slot while it waits for this. */
  isAgents?: boolean | undefined;
  /** Its server was killed while it prepared the run. */
  isTakenOver?: boolean | undefined;
  /** It is queued again, because the disk refused files at its start. */
  isPutBack?: boolean | undefined;
  /** Its number in the order in which this server got its runs. */
  number?: number;
}

export interface SpawnRequest {
  engine: string;
  prompt: string;
  caller?: Caller | undefined;
  model?: string | undefined;
  timeoutSeconds?: number | undefined;
  systemPrompt?: string | undefined;
  requestId?: string | undefined;
  cwd?: string | undefined;
  access?: Access | undefined;
  /** Who answers what it asks for. Default: it may not ask. */
  ask?: 'coordinator' | 'person' | 'none' | undefined;
  askTimeoutSeconds?: number | undefined;
  /** Runs in its own worktree instead of the project's directory. */
  isolate?: 'worktree' | undefined;
  /** The worktree of the agent that is continued. */
  worktree?: Worktree | undefined;
  /** A reserved id. Default: a new one. */
  agentId?: string | undefined;
  /** Why the run cannot start. It is recorded as failed and never starts. */
  failure?: Failure | undefined;
  /** The session to continue, and the last known agent in it. */
  continues?: { agentId: string | null; sessionId: string } | undefined;
  /** Replaces the registered engine of the same name. */
  as?: CliEngine | undefined;
  /** The template of `as`; without one, `as` differs only in its program. */
  template?: string | undefined;
  /** Its title in lists and logs. Default: the prompt's first line. */
  task?: string | undefined;
  squad?: Membership | undefined;
  /** Set for a member of a stateful squad. */
  inChat?: boolean | undefined;
  /** Skips the warning about other agents that write in its directory. */
  isWarned?: boolean | undefined;
  /** Skips the disk and rate limits, which a squad has passed as a whole. */
  isCounted?: boolean | undefined;
  /** Agents that have to end before it starts. */
  after?: Earlier[] | undefined;
  /** The command that creates its session. */
  createChat?: Command | undefined;
}

export interface Spawned {
  record: RunRecord;
  status: RunStatus;
  /** True for the agent that an earlier request with this id spawned. */
  repeated: boolean;
  failure?: Failure;
  /** The outcome of a repeated spawn that has ended. */
  outcome?: Outcome;
  /** A sentence about other agents, for the caller. */
  warning?: string;
}
