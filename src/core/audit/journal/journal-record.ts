import type { FailureCode, Usage } from '../../../plugin/plugin.ts';
import type { FileChange } from '../../changes/ports.ts';
import type { EndStatus, Membership } from '../../runs/run.ts';

/** A text in the journal: inline when short, otherwise by hash and file. */
export interface JournalText {
  chars: number;
  text?: string;
  sha256?: string;
  /** Relative to the record. */
  path?: string;
}

export interface SpawnedRecord {
  type: 'spawned';
  agent_id: string;
  engine: string;
  label: string;
  kind: 'cli' | 'api';
  model: string | null;
  tools: string | null;
  access: string;
  enforcement: string;
  cwd: string;
  /** The program; absent for APIs. */
  command?: string;
  /** The template file that its arguments come from, if any. */
  template?: string;
  task: string;
  /** The `clientInfo.name` of the asking client; absent for the command line. */
  client?: string;
  parent: string | null;
  continues: string | null;
  squad?: Membership;
  created_at: string;
  prompt: JournalText;
}

export interface FinishedRecord {
  type: 'finished';
  agent_id: string;
  status: EndStatus;
  error: string | null;
  error_code: FailureCode | null;
  /** Present when `error` contains only the beginning. */
  whole_error?: {
    chars: number;
    sha256: string;
    /** The outcome file with the whole error, relative to the record. */
    path: string;
  };
  model: string | null;
  exit_code: number | null;
  cost_usd: number | null;
  usage: Usage | null;
  duration_ms: number;
  completed_at: string;
  /** The first changed files; absent when there are none. */
  files_changed?: FileChange[];
  files_changed_total?: number;
  result: JournalText;
}

interface CancelRecord {
  type: 'cancel_requested';
  agent_id: string;
  reason: string | null;
  /** The door of a person: `from the page`, `from troupe watch`. */
  who?: string;
}

/** Why an agent is to end, and the door of a person who wants that. */
export function reasonOf(
  { reason, who }: Pick<CancelRecord, 'reason' | 'who'>,
  without: string
): string {
  const words = reason ?? without;
  return who === undefined ? words : `${words}, ${who}`;
}

/** The folder of an ended agent was removed from the disk. */
export interface CleanedRecord {
  type: 'cleaned';
  agent_id: string;
  /** The size of the folder. */
  bytes: number;
  /** Null when an earlier clean was killed while it removed the folder. */
  completed_at: string | null;
}

/** An agent has asked for permission or for an answer. */
interface AskedRecord {
  type: 'asked';
  agent_id: string;
  ask_id: string;
  kind: 'permission' | 'question';
  tool: string;
  /** The command, path, address or question. */
  subject: string;
  asked_at: string;
}

/** An ask has its answer, or has ended without one. */
interface AnsweredRecord {
  type: 'answered';
  agent_id: string;
  ask_id: string;
  by: string;
  /** The client or the agent that answered, or the door of a person. */
  who?: string;
  decision: 'allow' | 'deny' | null;
  text: string | null;
  waited_ms: number;
}

/** A person has acted on a worker or in the council, through the page. */
interface ActedRecord {
  type: 'acted';
  /** The worker; empty for the council. */
  agent_id: string;
  action:
    | 'task_sent'
    | 'task_cancel_requested'
    | 'stop_requested'
    | 'responded';
  /** The task, how a worker ends, or the response. */
  what: string;
  /** The door: `from the page`. */
  who: string;
}

export type JournalEvent =
  | SpawnedRecord
  | FinishedRecord
  | CancelRecord
  | AskedRecord
  | AnsweredRecord
  | ActedRecord
  | CleanedRecord;

export type JournalRecord = JournalEvent & {
  writer: string;
  n: number;
  prev: string;
  at: string;
};

/** The maximum size of a record, which is a single write. */
export const maximumRecordBytes = 64 * 1024;

/** `prev` of a writer's first record. */
export const firstLink = '0'.repeat(64);

/**
 * Undefined for a line that is not a valid record. Any program may write to the
 * file, so all fields that readers use are validated here, and only here.
 */
export function parseRecord(line: string): JournalRecord | undefined {
  const value = parseLine(line);
  return isRecord(value) ? value : undefined;
}

/** Whether a line is a record, including types of later versions. */
export function holdsRecord(line: string): boolean {
  return canBeRecord(parseLine(line));
}

/** Like `holdsRecord`, for a parsed line. */
export function canBeRecord(value: unknown): boolean {
  return isRecord(value) || isOfUnknownType(value);
}

/** Undefined for a line that is not JSON. */
export function parseLine(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    return undefined;
  }
}

type Fields = Record<string, unknown>;
/** @param of the record that contains the value */
type Check = (value: unknown, of: Fields) => boolean;

function isRecord(value: unknown): value is JournalRecord {
  if (!isObject(value)) return false;
  const { type, agent_id, at } = value;
  const checks = checksOf.get(type);
  const isOfCouncil = type === 'acted' && agent_id === '';
  if (!checks || !(isOfCouncil || isId(agent_id, value))) return false;
  if (!isTime(at, value)) return false;
  return checks.every(([name, isRight]) => isRight(value[name], value));
}

function isOfUnknownType(value: unknown): boolean {
  return (
    isObject(value) &&
    typeof value.type === 'string' &&
    typeof value.agent_id === 'string' &&
    !checksOf.has(value.type)
  );
}

const isText: Check = (value) => typeof value === 'string';
/** Views print it, so it must print as digits. */
const isCount: Check = (value) =>
  typeof value === 'number' && value >= 0 && value <= Number.MAX_SAFE_INTEGER;
const isId: Check = (value) =>
  typeof value === 'string' && /^[0-9a-f]{8}$/.test(value);

/** The format of `toISOString`, because times are compared as text. */
const isTime: Check = (value) =>
  typeof value === 'string' &&
  /^\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01])T(?:[01]\d|2[0-3])(?::[0-5]\d){2}\.\d{3}Z$/.test(
    value
  );

const orNull =
  (isRight: Check): Check =>
  (value, of) =>
    value === null || isRight(value, of);

const orAbsent =
  (isRight: Check): Check =>
  (value, of) =>
    value === undefined || isRight(value, of);

/** A path must name a file in the agent's own folder. */
const isJournalText: Check = (value, { agent_id: id }) => {
  if (!isObject(value)) return false;
  const { chars, text, path } = value;
  // Views print this number, so it must print as digits.
  if (!Number.isSafeInteger(chars) || Number(chars) < 0) return false;
  if (text !== undefined) return typeof text === 'string';
  return (
    typeof path === 'string' &&
    path.startsWith(`spawns/${id}/`) &&
    /^\w[\w.-]*$/.test(path.slice(16))
  );
};

const isSquad: Check = (value) =>
  isObject(value) &&
  typeof value.squadId === 'string' &&
  typeof value.roleId === 'string';

const isFile: Check = (value) =>
  isObject(value) &&
  typeof value.path === 'string' &&
  [value.added, value.removed].every((lines) =>
    orNull(isCount)(lines, value)
  ) &&
  ['undefined', 'boolean'].includes(typeof value.shared);

const statuses: Record<EndStatus, true> = {
  completed: true,
  failed: true,
  timeout: true,
  canceled: true,
  interrupted: true
};

const fieldChecks: Record<JournalEvent['type'], Record<string, Check>> = {
  spawned: {
    engine: isText,
    label: isText,
    kind: (value) => value === 'cli' || value === 'api',
    model: orNull(isText),
    tools: orNull(isText),
    access: isText,
    enforcement: isText,
    command: orAbsent(isText),
    template: orAbsent(isText),
    task: isText,
    client: orAbsent(isText),
    parent: orNull(isText),
    continues: orNull(isText),
    squad: orAbsent(isSquad),
    created_at: isTime,
    prompt: isJournalText
  },
  finished: {
    status: (value) =>
      typeof value === 'string' && Object.hasOwn(statuses, value),
    error: orNull(isText),
    whole_error: orAbsent(isJournalText),
    model: orNull(isText),
    cost_usd: orNull(isCount),
    duration_ms: isCount,
    completed_at: isTime,
    files_changed: orAbsent(
      (value, of) =>
        Array.isArray(value) && value.every((file) => isFile(file, of))
    ),
    files_changed_total: orAbsent(isCount),
    result: isJournalText
  },
  cancel_requested: { reason: orNull(isText), who: orAbsent(isText) },
  asked: {
    ask_id: isText,
    kind: (value) => value === 'permission' || value === 'question',
    tool: isText,
    subject: isText,
    asked_at: isTime
  },
  answered: {
    ask_id: isText,
    by: isText,
    who: orAbsent(isText),
    decision: (value) =>
      value === null || value === 'allow' || value === 'deny',
    text: orNull(isText),
    waited_ms: isCount
  },
  acted: { action: isText, what: isText, who: isText },
  cleaned: { bytes: isCount, completed_at: orNull(isTime) }
};

const checksOf = new Map<unknown, [name: string, isRight: Check][]>(
  Object.entries(fieldChecks).map(([type, checks]) => [
    type,
    Object.entries(checks)
  ])
);

function isObject(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null;
}
