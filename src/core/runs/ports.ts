import type { ProcessIdentity } from './run.ts';

export interface LaunchRequest {
  agentId: string;
  directory: string;
  command: string;
  args: string[];
  cwd: string;
  environment: Record<string, string>;
  /** Seconds, 0 for none. */
  timeoutSeconds: number;
  idleTimeoutSeconds: number;
  outputLimitBytes: number;
  /** End the run when this process ends. */
  stopWithUs: boolean;
}

export interface Launched {
  /** Settles when the supervisor has ended; rejects when it never began. */
  ended: Promise<void>;
}

/**
 * A run's process tree. Its supervisor is spared, which records the exit code,
 * and so are agents that it spawned, which have supervisors of their own.
 */
export interface StopTarget {
  directory: string;
  /** Where it runs: elsewhere its processes have other numbers. */
  place: string;
  /** Also end the agents that it spawned, as canceled. */
  withNested?: boolean;
  /** Its supervisor ended moments ago: nobody else has its numbers yet. */
  justEnded?: boolean;
}

export interface StopReport {
  /** Processes that are still there. */
  survivors: number[];
}

/** What we put into the environment of an agent's program. */
export interface AgentMarks {
  agentId: string | undefined;
  directory: string | undefined;
  depth: string | undefined;
}

/** A process that another descends from, or that leads its session. */
export interface Ancestor {
  /** `start` is empty for one that is gone while its session lives on. */
  identity: ProcessIdentity;
  /** In its environment, as far as that may be read. */
  marks: AgentMarks;
}

/** Processes, as the core needs them. Implemented in adapters/. */
export interface Processes {
  self: ProcessIdentity;
  /** `unknown`: on another machine or in another process namespace. */
  liveness(identity: ProcessIdentity): 'alive' | 'dead' | 'unknown';
  /** Those above this process, nearest first. A look takes milliseconds. */
  ancestors(): Ancestor[];
  launch(request: LaunchRequest): Launched;
  /** Ends a run's whole process tree: TERM, 3 s, KILL. */
  stop(target: StopTarget): Promise<StopReport>;
  /** The same by a process of its own, for one that ends at once. */
  stopAlone(directory: string): void;
  /** The command that asks an API engine, given its task on stdin. */
  apiAgent: { command: string; args: string[] };
  /** Absolute path of a program, or undefined when it is not installed. */
  locate(command: string): string | undefined;
}
