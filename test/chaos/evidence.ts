/** What is known of one agent when all is over. */
export interface AgentEvidence {
  id: string;
  name: string;
  /** Of its behaviour. */
  kind: string;
  /** A client received its id. */
  acknowledged: boolean;
  /** Ends that any interface reported, at any time. */
  told: string[];
  /** What its program wrote outside, in order: start, finish. */
  facts: string[];
  /** As the last server gives it; undefined when that knows none. */
  status: string | undefined;
  answer: string;
  /** As reported with the answer. */
  error: string | null;
  errorCode: string | null;
  /** In outcome.json. */
  outcome: string | undefined;
  /** In the journal, each of them. */
  journal: string[];
  /** In IAC.md and its archives, the word of each entry. */
  logged: string[];
  /** What happened to its processes. */
  injuries: string[];
  isCanceled: boolean;
  /** Its server ended before the rest were closed. */
  isOwnerGone: boolean;
  /** Then it was to end with it. */
  endsWithOwner: boolean;
  /** The disk was full while it was on it. */
  wasDiskFull: boolean;
  /** It ended before the journal with its end was removed. */
  isJournalCut: boolean;
  /** Files of other agents that are credited to it alone. */
  othersFiles: string[];
  /** Its end cannot be known yet. */
  isDoubted: boolean;
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
  /** Processes that are left running. */
  survivors: string[];
  /** Files that are left over. */
  leftovers: string[];
  /** `troupe log --verify`; of a journal that was removed it misses records. */
  verified: { code: number | null; text: string; isCut?: boolean };
  /** Views that no strict reader understands. */
  unread: string[];
  /** Agents in CONTEXT.md, and the agents that `list` reports as running. */
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
  /** It watches files, which the system may refuse. */
  isWatching: boolean;
}
