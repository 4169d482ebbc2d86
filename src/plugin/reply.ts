/** What an engine reports of a run, types only. */

/** Why a run failed; a closed list (docs/reference/errors.md). */
export type FailureCode =
  | 'not_installed'
  | 'not_logged_in'
  | 'auth'
  | 'quota'
  | 'budget'
  | 'rate_limited'
  | 'model_not_found'
  | 'permission_denied'
  | 'context_too_long'
  | 'network'
  | 'provider_error'
  | 'content_refused'
  | 'bad_output'
  | 'output_limit'
  | 'storage_full'
  | 'session_busy'
  | 'timeout'
  | 'idle_timeout'
  | 'canceled'
  | 'interrupted'
  | 'spawn_failed';

export interface Failure {
  code: FailureCode;
  /** One sentence, which may quote the engine. */
  message: string;
}

/** Tokens as the provider counted them. */
export interface Usage {
  prompt_tokens: number;
  completion_tokens: number;
  total_tokens: number;
}

/** The reply so far. `read` folds events into it; the last is the answer. */
export interface Reply {
  /** The final text; empty until the engine has reported one. */
  text: string;
  /** True once the engine's own terminal event was seen. */
  finished: boolean;
  failure?: Failure;
  sessionId?: string;
  model?: string;
  usage?: Usage;
  /** `session`: the numbers count the whole session, not this run alone. */
  usageScope?: 'run' | 'session';
  /** The part of `usage.prompt_tokens` that the provider had cached. */
  cachedTokens?: number;
  /** US dollars, 0 or more, as the engine reports them. Never a guess. */
  costUsd?: number;
  /** What the engine is doing now, in one line. */
  progress?: string;
  /**
   * The consecutive failures after which the engine retries. Remove it with the
   * first event that shows progress. The host ends a run that only fails (see
   * `retrySeconds`), and at once a run that would wait beyond its time limit.
   */
  retrying?: { times: number; why: Failure; waitSeconds?: number };
  /** Actions that the engine did not take because it lacked permission. */
  denials?: string[];
  /**
   * Files that the engine reports to have changed with its own tools, absolute
   * or relative to its directory. An engine that reports them sets this at its
   * first event, even if empty. If they are all and the engine has finished,
   * the host lists no other files as changed by the agent.
   */
  edits?: {
    paths: string[];
    /** False once a tool ran that changes files unreported, such as a shell. */
    isAll: boolean;
  };
}
