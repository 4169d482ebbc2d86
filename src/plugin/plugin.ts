/**
 * The plugin contract, types only. A plugin's default export is an engine: it
 * describes how a prompt becomes a reply, and the host does the rest.
 */
import type { FailureCode, Reply } from './reply.ts';
import type { Exchange, Turn } from './turn.ts';

export type { Failure, FailureCode, Reply, Usage } from './reply.ts';
export type { Edit, Exchange, Turn } from './turn.ts';

/** What an agent may do: read, change files, or anything the user may do. */
export type Access = 'read' | 'write' | 'full';

/** `enforced` by the engine (sandbox, tool list), or only `asked` for. */
export type Enforcement = 'enforced' | 'asked';

/** One run, as the host requests it from an engine. */
export interface EngineRequest {
  prompt: string;
  /** Already resolved from aliases; absent means the engine's own default. */
  model?: string;
  systemPrompt?: string;
  /** The engine's session to continue; absent starts a new one. */
  sessionId?: string;
  /** A fresh UUID for a new session; absent when a session continues. */
  newSessionId?: string;
  access: Access;
  /** An absolute path of an existing directory inside the workspace. */
  cwd: string;
  /** Another address of the provider, for proxies and tests. */
  baseUrl?: string;
  /** True when the host runs as root, which some CLIs treat specially. */
  asRoot: boolean;
  /** True for a run that asks for what its access does not allow. */
  asks?: true;
}

interface EngineBasics {
  /** `[a-z][a-z0-9-]*`, at most 26 characters; the tool is `spawn_<name>`. */
  name: string;
  /** At most 60 characters: "Claude". Default: the name, capitalized. */
  label?: string;
  /** What it is good for, for the calling model; at most 500 characters. */
  description: string;
  models?: {
    /** Used if the caller names none; absent: the engine decides. */
    default?: string;
    /** Short name → provider's id. Names not listed pass through. */
    aliases?: Record<string, string>;
    /** Names that the provider has retired → their replacements. */
    retired?: Record<string, string>;
  };
  /** Time limit of a run, for a given prompt. Default 300; 0: none. */
  timeoutSeconds?: number | ((prompt: string) => number);
  /** Maps the text of a failure to a code; else the host's table applies. */
  failure?: (text: string) => FailureCode | undefined;
}

/** A program on the user's machine. */
export interface CliEngine extends EngineBasics {
  kind: 'cli';
  /** Program name (looked up on PATH) or absolute path. */
  command: string;
  /** The command that installs it, shown when it is missing. */
  install?: string;
  /** How each access is enforced. Default: all `asked`. */
  access?: Record<Access, Enforcement>;
  /** The agent's tools, for the audit log: a line of at most 500 characters. */
  tools?: (access: Access) => string;
  /** Seconds without output until a run is stopped. Default 600; 0: never. */
  idleTimeoutSeconds?: number;
  /** After this many seconds of `retrying`, one more failure ends a run. */
  retrySeconds?: number;
  /** The arguments. Pure. The prompt goes to stdin, never in an argument. */
  args: (request: EngineRequest) => string[];
  /** What goes to stdin. Default: system prompt, blank line, prompt. */
  stdin?: (request: EngineRequest) => string;
  /** Variables beyond the host's allow-list. */
  env?: {
    /** Names passed on when they are set; a trailing `*` matches a prefix. */
    keep?: string[];
    /**
     * Switch → names passed on with it while it is `1`, `true`, `yes` or `on`,
     * such as credentials of a cloud. Precedes a prefix in `keep`.
     */
    keepIf?: Record<string, string[]>;
    /** Further names, out of the user's configuration of the program. Pure. */
    named?: (own: OwnConfiguration) => string[];
    /** Names removed after the others. */
    drop?: string[];
    /** Variables set for this run. */
    set?: (request: EngineRequest) => Record<string, string>;
  };
  /**
   * Folds one JSON line of stdout into the reply. Pure; ignores unknown events.
   * Without it, the trimmed stdout is the reply and exit code 0 is success.
   */
  read?: (reply: Reply, event: unknown) => Reply;
  /**
   * Folds one line of stderr into the reply of a running agent, for `progress`
   * and `retrying` of engines that do not report them on stdout. How a run
   * ended is never read from stderr.
   */
  readError?: (reply: Reply, line: string) => Reply;
  /**
   * What one JSON line of stdout adds to the transcript, in order. Pure; never
   * throws; `[]` for lines that add nothing, and for the end of the run, which
   * is in the reply. What is streamed and then repeated as a whole is given
   * once.
   */
  turns?: (event: unknown) => Turn[];
  /** The program's log of a session in JSON lines, read only for tokens. */
  usageLog?: {
    /** An absolute path; undefined for an invalid session id. Pure. */
    path: (
      sessionId: string,
      variables: Record<string, string | undefined>
    ) => string | undefined;
    /**
     * Folds one line into `usage`. Pure.
     * @param since ISO time of the run's start; earlier lines are of other turns
     */
    read: (reply: Reply, event: unknown, since: string) => Reply;
  };
  /** True when `sessionId` continues a session. */
  resumes?: boolean;
  /** True when a new session gets the `newSessionId` as its id. */
  takesSessionId?: boolean;
  /** Arguments that create an empty session and print only its id. */
  createChat?: string[];
  /** True if concurrent runs conflict: members of a squad take turns. */
  oneAtATime?: boolean;
  /** How `doctor` inspects the program. No model call. */
  probe?: {
    /** Prints the version. Default: `--version` if `verified`, else none. */
    version?: string[];
    /** Variables for these questions alone. */
    env?: Record<string, string>;
    /** The versions this plugin was tested with: `1.2.3`, both included. */
    verified?: { oldest: string; newest: string };
    /**
     * Arguments that print help, for each place that documents flags of `args`.
     * Default: `--help` if `verified` is given; `[]`: no flag is checked.
     */
    help?: string[][];
    /** Flags that work although no help text lists them. */
    unlisted?: string[];
    /** Arguments that print the login state, and how to read it. */
    login?: { args: string[]; read: (output: ProbeOutput) => LoginState };
    /** A selected provider whose key, if it has one, counts as login. Pure. */
    provider?: (own: OwnConfiguration) => OwnProvider | undefined;
    /** What the user does to log in. */
    loginHint?: string;
  };
  /** Pure. A program without it cannot be a worker. */
  connect?: (
    server: McpServer,
    directory: string,
    surroundings: Surroundings
  ) => Connection;
  /**
   * For requests with `asks`: `args` and `connect` offer the tools that need
   * permission, and send each use to `permission` of the server. Without an
   * answer, the program refuses. Absent: a run of this engine cannot ask.
   */
  asks?: {
    /** The accesses that the program keeps while it asks. */
    access: Access[];
    /** Tools that only change one file, and tools that only read. */
    edits: string[];
    reads: string[];
    /**
     * With these requests, `args` make the program speak the Agent Client
     * Protocol. The host gives it the prompt and answers its requests for
     * permission; `read` and `turns` get events as of Gemini CLI's
     * `stream-json`.
     */
    acp?: true;
    /**
     * The line of stdout that names the session: its `type`, and its field with
     * the id. Then a run that waits for long may be ended, and goes on in its
     * session: with `sessionId`, `args` take the answer from stdin.
     */
    session?: { type: string; field: string };
  };
  /** A worker without it runs in the background. */
  interactive?: Interactive;
  /** Other names for a worker of this engine, unless an engine has them. */
  workerAliases?: string[];
}

/** An MCP server over stdio that an agent gets in addition to its own tools. */
export interface McpServer {
  /** Its key where the program keeps its servers. */
  name: string;
  command: string;
  args: string[];
  env: Record<string, string>;
  /** The tools that the agent may use, without asking for permission. */
  tools: string[];
  /** Time limit of one call, in seconds. */
  callSeconds: number;
}

/**
 * What a program is started with so that it has an MCP server. Files go into
 * `directory`, which is private to one agent; the user's are never written.
 */
export interface Connection {
  /** Put before the arguments of `args` or `interactive`. */
  args: string[];
  env?: Record<string, string>;
  /** Text by name; written into `directory`, 0600, before the start. */
  files?: Record<string, string>;
  /**
   * Name in `directory` → a file or folder of the user that it links to, if
   * that exists. If `files` writes into a linked folder, the user's other
   * entries of that folder are linked one by one.
   */
  links?: Record<string, string>;
}

/** The inputs of a connection other than the server. */
export interface Surroundings {
  request: EngineRequest;
  /** True in a terminal (`interactive`), false otherwise (`args`, `stdin`). */
  inTerminal: boolean;
  /** The program's variables, without the connection's own. */
  environment: Readonly<Record<string, string | undefined>>;
  /** The text of a file of the user; undefined when there is none. */
  read: (path: string) => string | undefined;
}

type ProbeOutput = { exitCode: number; stdout: string; stderr: string };
type LoginState = 'logged in' | 'not logged in' | 'unknown';
/** A provider in the user's configuration; `keyName`: its key's variable. */
type OwnProvider = { name: string; keyName?: string };

/** Where a plugin reads the user's own configuration of a program. */
export type OwnConfiguration = Pick<Surroundings, 'environment' | 'read'>;

/** A program in a terminal. */
export interface Interactive {
  /** The arguments, with the prompt among them unless it is typed. Pure. */
  args: (request: EngineRequest) => string[];
  /** Variables beyond the variables of `env`. */
  env?: (request: EngineRequest) => Record<string, string>;
  /** True when the prompt is typed once the screen is up. */
  typesPrompt?: boolean;
}

/** One question to a provider. */
export interface ApiRequest {
  prompt: string;
  /** Already resolved from aliases and the engine's default. */
  model: string;
  systemPrompt?: string;
  /** Earlier turns of this conversation, oldest first. */
  turns: Exchange[];
  /** Another address of the provider, for proxies and tests. */
  baseUrl?: string;
  /** False if the user's settings state that the address cannot stream. */
  stream: boolean;
}

/** What the host gives an API engine for one call. */
export interface ApiTools {
  /** Empty for an engine that needs no key. */
  apiKey: string;
  /** Aborted when the run is stopped. */
  signal: AbortSignal;
  /** Retries and detects silence: switch the SDK's own retries off. */
  fetch: typeof fetch;
  /** Call with each piece of a streamed answer, which is shown and stored. */
  onText: (piece: string) => void;
}

/** A provider reached over HTTP: text in, text out. */
export interface ApiEngine extends EngineBasics {
  kind: 'api';
  /** Names of its key, best first; empty when it needs none. */
  keyNames: string[];
  /** Where to get a key. */
  keyUrl?: string;
  /** Id in @pydantic/genai-prices; else the reply or `prices` gives costs. */
  prices?: string;
  /**
   * Sends one request; rejects for a failed run. An answer that was cut off
   * has `failure` or `finished: false`.
   */
  generate: (request: ApiRequest, tools: ApiTools) => Promise<Reply>;
}

export type Engine = CliEngine | ApiEngine;
