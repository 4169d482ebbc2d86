/** What is known of one agent when all is over. */
export interface AgentEvidence {
  id: string;
  name: string;
  /** Of its behaviour. */
  kind: string;
  /** A client was told that it exists. */
  acknowledged: boolean;
  /** Ends that any door told, whenever it did. */
  told: string[];
  /** What its program wrote outside, in order: start, finish. */
  facts: string[];
  /** As the last server gives it; undefined when that knows none. */
  status: string | undefined;
  answer: string;
  errorCode: string | null;
  /** In outcome.json. */
  outcome: string | undefined;
  /** In the journal, each of them. */
  journal: string[];
  /** In IAC.md and its archives, the word of each entry. */
  logged: string[];
  /** What befell its processes. */
  injuries: string[];
  isCanceled: boolean;
  /** Its server ended before the others were let go. */
  isOwnerGone: boolean;
  /** Then it was to end with it. */
  endsWithOwner: boolean;
  /** The disk was full while it was on it. */
  wasDiskFull: boolean;
  outputBytes: number;
}

export interface Evidence {
  agents: AgentEvidence[];
  /** Agents that one request id has made, as they were answered. */
  requests: Map<string, string[]>;
  /** Responses to councils by id: what was acknowledged, what is kept. */
  council: { acknowledged: Map<string, string>; kept: [string, string][] };
  /** Already judged. */
  workers: string[];
  /** Processes that nobody ended. */
  survivors: string[];
  /** Files that nobody removed. */
  leftovers: string[];
  /** `troupe log --verify`. */
  verified: { code: number | null; text: string };
  /** Views that no strict reader understands. */
  unread: string[];
  /** Agents in CONTEXT.md, and those that `list` says are at work. */
  context: string[];
  running: string[];
  servers: ServerEvidence[];
  /** What a player saw and should not have seen. */
  seen: string[];
}

export interface ServerEvidence {
  name: string;
  impurities: string[];
  stderr: string;
  peakMegabytes: number;
  /** It has asked the system to be told of changed files, which may fail. */
  isWatching: boolean;
}
