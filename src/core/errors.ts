/**
 * What a caller can mend. Agents that fail are not errors: they end with an
 * outcome. The list is closed; docs/errors.md explains each code.
 */
export const hostErrorCodes = [
  'invalid_input',
  'unknown_agent',
  'unknown_engine',
  'no_engine',
  'unknown_tool',
  'cwd_outside',
  'cwd_missing',
  'no_repository',
  'depth_limit',
  'at_capacity',
  'spawn_rate',
  'disk_limit',
  'no_session',
  'unknown_role',
  'unknown_squad',
  'template_invalid',
  'no_council',
  'council_closed',
  'session_replaced',
  'unknown_cursor',
  'not_a_worker',
  'not_installed',
  'not_ready',
  'agent_over',
  'foreign_agent',
  'needs_confirm',
  'unknown_task',
  'task_exists',
  'already_done',
  'window_full',
  'no_terminal',
  'terminal_failed',
  'state_invalid',
  'state_locked',
  'record_refused',
  'state_unsafe',
  'storage_full',
  'storage_unwritable',
  'system_limit',
  'config_invalid',
  'internal'
] as const;

export type HostErrorCode = (typeof hostErrorCodes)[number];

/** Carries a stable code, one sentence, and what to do next. */
export class HostError extends Error {
  readonly code: HostErrorCode;
  readonly hint: string;
  /** What others have said, by the name of its field. */
  readonly quoted: Record<string, unknown>;

  constructor(
    code: HostErrorCode,
    message: string,
    hint: string,
    quoted: Record<string, unknown> = {}
  ) {
    super(message);
    this.name = 'HostError';
    this.code = code;
    this.hint = hint;
    this.quoted = quoted;
  }
}

/** The words of whatever was thrown. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** The errno name of a failed system call, or undefined. */
export function errnoOf(error: unknown): string | undefined {
  if (typeof error !== 'object' || error === null) return undefined;
  const code: unknown = Reflect.get(error, 'code');
  return typeof code === 'string' ? code : undefined;
}

/** What to do about a disk that is full, and about one that refuses. */
interface StorageHints {
  full: string;
  unwritable: string;
}

const ofWorkspace: StorageHints = {
  full: 'Free some space and call again; nothing was started.',
  unwritable:
    'Check its owner and permissions, or set TROUPE_HOME to a directory that can be written.'
};

/**
 * Turns a failed write into an error a user can act on; anything that is not
 * a system error, or was no write, is handed back as it is.
 */
export function storageError(
  error: unknown,
  path: string,
  hints = ofWorkspace
): unknown {
  const code = errnoOf(error);
  if (code === undefined || error instanceof HostError) return error;
  const exhausted = limitError(error);
  if (exhausted) return exhausted;
  // A program that the system would not start says nothing of a disk.
  if (/^spawn/.test(String(Reflect.get(Object(error), 'syscall'))))
    return error;
  return code === 'ENOSPC' || code === 'EDQUOT'
    ? new HostError(
        'storage_full',
        `The disk that holds ${path} is full.`,
        hints.full
      )
    : new HostError(
        'storage_unwritable',
        `${path} cannot be written (${code}).`,
        hints.unwritable
      );
}

/** What the system has no more of, by the name of its error. */
const exhaustions: Record<string, string> = {
  EMFILE: 'This server may open no more files',
  ENFILE: 'The system can open no more files',
  EAGAIN: 'The system starts no more processes for this account',
  ENOMEM: 'The system has no memory left'
};

/** An error that says so, when the system has run out of something. */
export function limitError(error: unknown): HostError | undefined {
  const code = errnoOf(error) ?? '';
  const what = exhaustions[code];
  return what === undefined
    ? undefined
    : new HostError(
        'system_limit',
        `${what} (${code}).`,
        'Call again when some agents have ended, or raise the limit (ulimit -n, ulimit -u); what runs goes on.'
      );
}

/**
 * For what may be missing: then there is nothing.
 * @throws what says that we could not look, as without a free descriptor
 */
export function absentUnlessLimited(error: unknown): undefined {
  if (limitError(error)) throw error;
  return undefined;
}
