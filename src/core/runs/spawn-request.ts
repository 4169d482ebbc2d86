import type { Access, CliEngine, Failure } from '../../plugin.ts';
import type { Worktree } from '../changes/ports.ts';
import type { Membership, Outcome, RunRecord, RunStatus } from './run.ts';

/** An agent that another one comes after. */
export interface Earlier {
  agentId: string;
  /** Milliseconds from its end. */
  delayMs: number;
}

export interface Command {
  command: string;
  args: string[];
}

export interface SpawnRequest {
  engine: string;
  prompt: string;
  model?: string | undefined;
  timeoutSeconds?: number | undefined;
  systemPrompt?: string | undefined;
  requestId?: string | undefined;
  cwd?: string | undefined;
  access?: Access | undefined;
  /** In a worktree of its own instead of in the project's directory. */
  isolate?: 'worktree' | undefined;
  /** The worktree of the agent that is continued. */
  worktree?: Worktree | undefined;
  /** An id reserved beforehand. */
  agentId?: string | undefined;
  /** Known beforehand to be unable to start: recorded, never started. */
  failure?: Failure | undefined;
  /** The session this one continues, and its last agent as far as we know. */
  continues?: { agentId: string | null; sessionId: string } | undefined;
  /** In the place of the registered engine of that name. */
  as?: CliEngine | undefined;
  /** The file that this engine is made from; else it has another program. */
  template?: string | undefined;
  /** What lists and logs call it; default: the prompt's first line. */
  task?: string | undefined;
  squad?: Membership | undefined;
  /** Of a squad whose members have chats. */
  inChat?: boolean | undefined;
  /** Its caller has been told of other agents already. */
  isWarned?: boolean | undefined;
  /** Its spawn was counted before: a squad's members are counted at once. */
  isCounted?: boolean | undefined;
  /** Those that have to end before it starts. */
  after?: Earlier[] | undefined;
  /** Makes the session that it starts with. */
  createChat?: Command | undefined;
}

export interface Spawned {
  record: RunRecord;
  status: RunStatus;
  /** The same request id was spawned before; this is that agent. */
  repeated: boolean;
  failure?: Failure;
  /** Of a repeated one that has ended. */
  outcome?: Outcome;
  /** What its caller should know of other agents. */
  warning?: string;
}
