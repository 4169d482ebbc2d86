/**
 * The plugin contract: everything an engine may say about itself. A plugin's
 * default export is an engine: a plain object that describes how a prompt
 * becomes a reply. The host starts processes, reads keys and writes files.
 * Types only, needed at build time at most.
 */
import type { Probe } from './plugin-probe.ts';
import type { WorkerPart } from './plugin-worker.ts';

export type {
  Connection,
  Interactive,
  McpServer,
  Surroundings
} from './plugin-worker.ts';

/** What an agent may do: look, change files, or anything the user may. */
export type Access = 'read' | 'write' | 'full';

/**
 * Who holds an agent to its access: `enforced` by the engine itself (sandbox
 * or tool list), or only `asked` for in words or flags it may ignore.
 */
export type Enforcement = 'enforced' | 'asked';

/** Why a run failed. The list is closed and documented in docs/errors.md. */
export type FailureCode =
  | 'not_installed'
  | 'not_logged_in'
  | 'auth'
  | 'quota'
  | 'rate_limited'
  | 'model_not_found'
  | 'permission_denied'
  | 'context_too_long'
  | 'network'
  | 'provider_error'
  | 'content_refused'
  | 'bad_output'
  | 'output_limit'
  | 'session_busy'
  | 'timeout'
  | 'idle_timeout'
  | 'canceled'
  | 'interrupted'
  | 'spawn_failed';

export interface Failure {
  code: FailureCode;
  /** One sentence for people. May quote the engine. */
  message: string;
}

/** Tokens as the provider counted them. */
export interface Usage {
  prompt_tokens: number;
  completion_tokens: number;
  total_tokens: number;
}

/** One run, as an engine is asked for it. */
export interface EngineRequest {
  prompt: string;
  /** Already resolved from aliases; absent means the engine's own default. */
  model?: string;
  systemPrompt?: string;
  /** The engine's session to continue; absent starts a new one. */
  sessionId?: string;
  /** A UUID that nobody has, for a new session; absent when one continues. */
  newSessionId?: string;
  access: Access;
  /** Absolute, exists, inside the workspace. */
  cwd: string;
  /** Another address of the provider, for proxies and tests. */
  baseUrl?: string;
  /** True when the host runs as root, which some CLIs treat specially. */
  asRoot: boolean;
}

/** What is known so far. `read` folds events into it; the last is the answer. */
export interface Reply {
  /** The final text; empty until the engine has said something final. */
  text: string;
  /** True once the engine's own terminal event was seen. */
  finished: boolean;
  failure?: Failure;
  sessionId?: string;
  model?: string;
  usage?: Usage;
  /** `session`: the numbers count the whole session, not this run alone. */
  usageScope?: 'run' | 'session';
  /** Of `usage.prompt_tokens`, those the provider had cached. */
  cachedTokens?: number;
  /** US dollars, as the engine reports them. Never a guess. */
  costUsd?: number;
  /** What it is doing now, one line. */
  progress?: string;
  /**
   * Failures in a row, and why it tries again. Taken away by whatever shows
   * that it goes on. The host ends a run that only fails: `retrySeconds`.
   */
  retrying?: { times: number; why: Failure };
  /** Actions the engine refused to itself for want of permission. */
  denials?: string[];
}

interface EngineBasics {
  /** `[a-z][a-z0-9-]*`, at most 26 characters; the tool is `spawn_<name>`. */
  name: string;
  /** For people: "Claude". At most 60. Default: the name with a capital. */
  label?: string;
  /** What it is good for, for the model that chooses; at most 500. */
  description: string;
  models?: {
    /** Used when the caller names none; absent: the engine decides. */
    default?: string;
    /** Short name → provider's id. Names not listed pass through. */
    aliases?: Record<string, string>;
    /** Names the provider has given up → what stands in for them now. */
    retired?: Record<string, string>;
  };
  /** Until a run is stopped, for a given prompt. Default 300; 0: never. */
  timeoutSeconds?: number | ((prompt: string) => number);
  /** Text of a failure → code, tried before the host's own table. */
  failure?: (text: string) => FailureCode | undefined;
}

/** A program on the user's machine. */
export interface CliEngine extends EngineBasics, WorkerPart {
  kind: 'cli';
  /** Program name (looked up on PATH) or absolute path. */
  command: string;
  /** The command that installs it, shown when it is missing. */
  install?: string;
  /** Who enforces each access. Default: all `asked`. */
  access?: Record<Access, Enforcement>;
  /** Tools the agent gets, for the audit log: one line, at most 500. */
  tools?: (access: Access) => string;
  /** Seconds without output until a run is stopped. Default 600; 0: never. */
  idleTimeoutSeconds?: number;
  /** After so many seconds of `retrying`, one more failure ends a run. */
  retrySeconds?: number;
  /** The arguments. Pure. The prompt goes to stdin, never in here. */
  args: (request: EngineRequest) => string[];
  /** What goes to stdin. Default: system prompt, blank line, prompt. */
  stdin?: (request: EngineRequest) => string;
  /** Variables beyond the host's allow-list. */
  env?: {
    /** Names passed on when set; a trailing `*` matches a prefix. */
    keep?: string[];
    /**
     * Names passed on only while the variable before them is set to `1`,
     * `true`, `yes` or `on`: the credentials of a cloud and its switch. Wins
     * over a prefix in `keep`. The switch is passed on as well.
     */
    keepIf?: Record<string, string[]>;
    /** Names taken out again after `keep` and `keepIf`. */
    drop?: string[];
    /** Names set for this run. */
    set?: (request: EngineRequest) => Record<string, string>;
  };
  /**
   * Folds one JSON line of stdout into the reply. Pure, never throws on
   * unknown events. Without it the whole trimmed stdout is the reply and exit
   * code 0 is success.
   */
  read?: (reply: Reply, event: unknown) => Reply;
  /**
   * Folds one line of stderr into the reply of a run at work: for `progress`
   * and `retrying` of engines that do not tell them on stdout. How a run has
   * ended is never read from there.
   */
  readError?: (reply: Reply, line: string) => Reply;
  /** True when `sessionId` continues a session. */
  resumes?: boolean;
  /** True when a new session gets the `newSessionId` as its id. */
  takesSessionId?: boolean;
  /** Arguments that make an empty session and print its id, nothing else. */
  createChat?: string[];
  /** True when two at once disturb each other: a squad's take turns. */
  oneAtATime?: boolean;
  /** How `doctor` learns more. No model call. */
  probe?: Probe;
}

/** One question to a provider. */
export interface ApiRequest {
  prompt: string;
  /** Already resolved from aliases and the engine's default. */
  model: string;
  systemPrompt?: string;
  /** What was said before in this conversation, oldest first. */
  turns: Turn[];
  /** Another address of the provider, for proxies and tests. */
  baseUrl?: string;
  /** False when the user's settings say that the address cannot stream. */
  stream: boolean;
}

/** A prompt and its whole answer. */
export interface Turn {
  prompt: string;
  answer: string;
}

/** What the host lends an API engine for one call. */
export interface ApiTools {
  /** Empty for an engine that needs none. */
  apiKey: string;
  /** Aborted when the run is stopped. */
  signal: AbortSignal;
  /**
   * Retries what is worth it, watches for silence and keeps status and
   * request id. Hand it to the SDK, with the SDK's own retries off.
   */
  fetch: typeof fetch;
  /** Call with each piece of a streamed answer: shown as progress and kept. */
  onText: (piece: string) => void;
}

/** A provider reached over HTTP: text in, text out. */
export interface ApiEngine extends EngineBasics {
  kind: 'api';
  /** Names of its key, best first; empty when it needs none. */
  keyNames: string[];
  /** Where to get a key. */
  keyUrl?: string;
  /**
   * The provider's id in @pydantic/genai-prices, to reckon costs. Without
   * it costs are those of the reply or of the configuration's `prices`.
   */
  prices?: string;
  /**
   * Asks once. A rejected promise is a failed run: the host reads status,
   * network and abort from its own `fetch`. An answer that was cut short
   * must come back with `failure`, or with `finished: false`.
   */
  generate: (request: ApiRequest, tools: ApiTools) => Promise<Reply>;
}

export type Engine = CliEngine | ApiEngine;
