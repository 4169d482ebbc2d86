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

export interface StopTarget {
  agentId: string;
  directory: string;
  /** The supervisor, which is spared: it records the exit code. */
  supervisor: ProcessIdentity | undefined;
}

export interface StopReport {
  /** Agents of other runs found inside this one's tree; they were spared. */
  nested: string[];
  /** Processes that are still there. */
  survivors: number[];
}

/** Processes, as the core needs them. Implemented in adapters/. */
export interface Processes {
  self: ProcessIdentity;
  /** `unknown`: on another machine or in another process namespace. */
  liveness(identity: ProcessIdentity): 'alive' | 'dead' | 'unknown';
  launch(request: LaunchRequest): Launched;
  /** Ends a run's whole process tree: TERM, 3 s, KILL. */
  stop(target: StopTarget): Promise<StopReport>;
  /** Absolute path of a program, or undefined when it is not installed. */
  locate(command: string): string | undefined;
}
