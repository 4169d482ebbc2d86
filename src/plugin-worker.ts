/**
 * The part of the plugin contract for workers: agents that stay, and are given
 * their tasks by a server of ours. Types only.
 */
import type { EngineRequest } from './plugin.ts';

/** What a program says of itself that can be a worker. */
export interface WorkerPart {
  /** How it is given an MCP server. Without it, it cannot be a worker. */
  connect?: Connect;
  /** How it works in a terminal. Without it, only in the background. */
  interactive?: Interactive;
}

/** An MCP server over stdio that an agent is given beside its own tools. */
export interface McpServer {
  /** Its key where the program keeps its servers. */
  name: string;
  command: string;
  args: string[];
  env: Record<string, string>;
  /** All it may use of it, and without asking anybody. */
  tools: string[];
  /** Seconds that one call may take at most. */
  callSeconds: number;
}

/** How a program is given a server for one start. Pure. */
export type Connect = (
  server: McpServer,
  directory: string,
  surroundings: Surroundings
) => Connection;

/**
 * What a program is started with to have a server. The user's own files are
 * never written: what must be a file goes into `directory`, which is private
 * to this one worker and stays as long as it does.
 */
export interface Connection {
  /** Put before those of `args` or `interactive`. */
  args: string[];
  env?: Record<string, string>;
  /** Text by name; written into `directory`, 0600, before the start. */
  files?: Record<string, string>;
  /**
   * Path by name: what stands for a file or folder of the user in
   * `directory`, if it is there. A folder that `files` writes into gets what
   * else is in the user's.
   */
  links?: Record<string, string>;
}

/** What the program is started with, but for the connection's own. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** What a connection may depend on beside the server. */
export interface Surroundings {
  request: EngineRequest;
  /** In a terminal, by `interactive`; else by `args` and `stdin`. */
  inTerminal: boolean;
  environment: Environment;
  /** The text of a file of the user; undefined when there is none. */
  read: (path: string) => string | undefined;
}

/** A program in a terminal. */
export interface Interactive {
  /** The arguments, the prompt among them unless it is typed. Pure. */
  args: (request: EngineRequest) => string[];
  /** Variables beyond those of `env`. */
  env?: (request: EngineRequest) => Record<string, string>;
  /** It takes no prompt as an argument: typed once its screen stands. */
  typesPrompt?: boolean;
}
