import type { EndStatus } from '../runs/run.ts';
import type { JournalRecord } from './journal.ts';

/**
 * Undefined for what is no record: torn lines, or foreign ones. Anybody may
 * have written to the file, so every field that is read by anybody is checked
 * here, and nowhere else.
 */
export function parseRecord(line: string): JournalRecord | undefined {
  const value = parseLine(line);
  return isRecord(value) ? value : undefined;
}

/** True of a record, also of a kind that only a later version knows. */
export function holdsRecord(line: string): boolean {
  return canBeRecord(parseLine(line));
}

/** The same of what stands in a line. */
export function canBeRecord(value: unknown): boolean {
  return isRecord(value) || isOfOtherKind(value);
}

/** Undefined for what is no JSON. */
export function parseLine(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    return undefined;
  }
}

type Check = (value: unknown, of: Fields) => boolean;
type Fields = Record<string, unknown>;

function isRecord(value: unknown): value is JournalRecord {
  if (!isObject(value)) return false;
  const checks = checksOf.get(value.type);
  if (!checks || !isId(value.agent_id) || !isTime(value.at)) return false;
  for (const [name, isRight] of checks)
    if (!isRight(value[name], value)) return false;
  return true;
}

function isOfOtherKind(value: unknown): boolean {
  return (
    isObject(value) &&
    typeof value.type === 'string' &&
    typeof value.agent_id === 'string' &&
    !checksOf.has(value.type)
  );
}

const isText: Check = (value) => typeof value === 'string';
const isNumber: Check = (value) => Number.isFinite(value);
const isId: (value: unknown) => boolean = (value) =>
  typeof value === 'string' && /^[0-9a-f]{8}$/.test(value);

/** As `toISOString` writes it: times are compared as text and shown. */
const isTime = (value: unknown): boolean =>
  typeof value === 'string' &&
  /^\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01])T(?:[01]\d|2[0-3])(?::[0-5]\d){2}\.\d{3}Z$/.test(
    value
  );

const isCount: Check = (value) => Number.isFinite(value) && Number(value) >= 0;
const orNull =
  (isRight: Check): Check =>
  (value, of) =>
    value === null || isRight(value, of);

/** A file that is read is one of the agent's own. */
const isJournalText: Check = (value, { agent_id: id }) => {
  if (!isObject(value) || !isCount(value.chars, value)) return false;
  const { text, path } = value;
  if (text !== undefined) return typeof text === 'string';
  return (
    typeof path === 'string' &&
    path.startsWith(`spawns/${id}/`) &&
    /^\w[\w.-]*$/.test(path.slice(16))
  );
};

const isSquad: Check = (value) =>
  value === undefined ||
  (isObject(value) &&
    typeof value.squadId === 'string' &&
    typeof value.roleId === 'string');

const statuses: Record<EndStatus, true> = {
  completed: true,
  failed: true,
  timeout: true,
  canceled: true,
  interrupted: true
};

const checksOf = new Map<unknown, [name: string, isRight: Check][]>([
  [
    'spawned',
    [
      ['engine', isText],
      ['label', isText],
      ['kind', (value) => value === 'cli' || value === 'api'],
      ['model', orNull(isText)],
      ['tools', orNull(isText)],
      ['access', isText],
      ['enforcement', isText],
      ['task', isText],
      ['parent', orNull(isText)],
      ['continues', orNull(isText)],
      ['squad', isSquad],
      ['created_at', isTime],
      ['prompt', isJournalText]
    ]
  ],
  [
    'finished',
    [
      [
        'status',
        (value) => typeof value === 'string' && Object.hasOwn(statuses, value)
      ],
      ['error', orNull(isText)],
      [
        'whole_error',
        (value, of) => value === undefined || isJournalText(value, of)
      ],
      ['model', orNull(isText)],
      ['cost_usd', orNull(isNumber)],
      ['duration_ms', isCount],
      ['completed_at', isTime],
      ['result', isJournalText]
    ]
  ],
  ['cancel_requested', [['reason', orNull(isText)]]],
  [
    'cleaned',
    [
      ['bytes', isCount],
      ['completed_at', orNull(isTime)]
    ]
  ]
]);

function isObject(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null;
}
