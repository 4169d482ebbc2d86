import type { ProcessIdentity } from '../processes/process-identity.ts';
import type { Run, RunRecord } from './run.ts';
import type { StopRequest } from './run-files.ts';

export interface LaunchRequest {
  agentId: string;
  directory: string;
  command: string;
  args: string[];
  cwd: string;
  environment: Record<string, string>;
  /** 0 for no limit, as for the next two limits. */
  timeoutSeconds: number;
  idleTimeoutSeconds: number;
  outputLimitBytes: number;
  /**
   * The time limit of an ask. The limits of time and silence pause while the
   * run has an open one. 0 for a run that does not ask.
   */
  askSeconds?: number;
  /** The program whose output it is, if `command` is a shell that runs it. */
  runs?: { command: string; args: string[] };
  /** Whether plain stdout is the answer, or events; undefined for neither. */
  isPlain?: boolean;
  /**
   * The engine of an API agent, if one process may make the calls of several
   * agents. The command is then run for an agent that this process cannot serve.
   */
  sharedEngine?: string;
  /** Ends the run when this process ends. */
  stopWithUs: boolean;
}

export interface Launched {
  /**
   * Resolves when the supervisor has ended; rejects if it never started. False
   * if it could not record its claim, so that the program never started.
   */
  ended: Promise<boolean>;
}

/**
 * A run's process tree. It excludes the supervisor, which records the exit
 * code, and the agents that the run spawned, which have their own supervisors.
 */
export interface StopTarget {
  directory: string;
  /** The `place` of its `ProcessIdentity`; its pids are valid only there. */
  place: string;
  /** Also cancels the agents that it spawned. */
  withNested?: boolean;
  /** Its supervisor ended moments ago, so its pids have not been reused yet. */
  justEnded?: boolean;
  /**
   * Why the run is stopped. Recorded right before the first signal, unless the
   * run has an exit code by then: it ended by itself.
   */
  request?: Omit<StopRequest, 'type'>;
}

export interface StopReport {
  /** Pids of processes that still exist. */
  survivors: number[];
}

/** troupe's variables in the environment of an agent's program. */
export interface AgentMarks {
  agentId: string | undefined;
  directory: string | undefined;
  depth: string | undefined;
}

/** An ancestor of a process, or the leader of its session. */
export interface Ancestor {
  /** `start` is empty for a leader that ended before its session. */
  identity: ProcessIdentity;
  /** From its environment; all undefined if that is not readable. */
  marks: AgentMarks;
}

/** The process operations that the core needs. Implemented in adapters/. */
export interface Processes {
  self: ProcessIdentity;
  /** `unknown` for a process on another machine or in another namespace. */
  liveness(identity: ProcessIdentity): 'alive' | 'dead' | 'unknown';
  /** The ancestors of this process, nearest first. Takes milliseconds. */
  ancestors(): Ancestor[];
  launch(request: LaunchRequest): Launched;
  /** Stops a run's process tree with SIGTERM, and after 3 s with SIGKILL. */
  stop(target: StopTarget): Promise<StopReport>;
  /** Like `stop`, in a separate process, for a caller that exits at once. */
  stopAlone(directory: string): void;
  /** The command that runs an API engine; it reads its task from stdin. */
  apiAgent: { command: string; args: string[] };
  /** Absolute path of a program, or undefined when it is not installed. */
  locate(command: string): string | undefined;
}

/** Finds runs by id, with the outcome once they have ended. */
export interface RunReader {
  run(agentId: string): Promise<Run | undefined>;
}

/** The runs of this server that have not ended. */
export interface OwnRuns {
  own(): RunRecord[];
  /** Removes a run from the queue. */
  drop(agentId: string): void;
}

/** What a tracker needs of the starter of this server. */
export interface Starts {
  /** Runs that this process is just recording. */
  readonly slots: { readonly coming: ReadonlySet<string> };
  /** True while a run that this process has queued may still start. */
  isQueued(record: RunRecord): boolean;
  /** True from the launch of a run until this process has seen it end. */
  hasStarted(agentId: string): boolean;
  /** Starts a run whose server was killed while it prepared it, if it may. */
  takeOver(record: RunRecord): void;
}

/** The asks of runs, as far as their tracker needs them. */
export interface RunAsks {
  isAsking(record: RunRecord): boolean;
  /** Journals asks and answers, and ends asks that no answer can reach. */
  attend(record: RunRecord): void;
  /** Ends the open asks of a run that has ended. */
  close(record: RunRecord): void;
}
