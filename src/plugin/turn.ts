/** What an agent said and did, types only. */

/**
 * One step of an agent, as plain data. `id` is the engine's own id of a tool
 * call; the result and the edits of a call have the same one.
 */
export type Turn = {
  /** The call whose nested agent this is a step of. */
  within?: string;
} & (
  | Said
  | ToolCall
  | ToolResult
  | Edit
  /** A remark of the program: a retry, a warning. */
  | { kind: 'notice'; text: string }
);

/** What the agent says, or thinks before that. */
export interface Said {
  kind: 'text' | 'thinking';
  text: string;
  /** Streamed: readers join it to a piece of the same kind right before it. */
  isPiece?: true;
}

export interface ToolCall {
  kind: 'tool';
  id?: string;
  name: string;
  /** A command, path, query or JSON; whole. */
  input: string;
}

export interface ToolResult {
  kind: 'result';
  id?: string;
  text: string;
  isError?: true;
}

/**
 * A change of a file. The engine gives what it knows: a diff, the text before
 * and after (of the file, or of the part that changes), or the path alone. An
 * edit with an id that precedes its result is made only if that has no error.
 */
export interface Edit {
  kind: 'edit';
  id?: string;
  /** Absolute, or relative to the directory of the agent. */
  path: string;
  change?: 'added' | 'changed' | 'deleted';
  before?: string;
  after?: string;
  /** Unified, with or without its headers. */
  diff?: string;
}

/** A prompt of an API's conversation, and its whole answer. */
export interface Exchange {
  prompt: string;
  answer: string;
}
