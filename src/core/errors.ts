/**
 * Codes of the errors that a caller can fix. A failed agent is not an error; it
 * ends with an outcome. The list is closed; docs/reference/errors.md explains it.
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
  'unknown_ask',
  'already_answered',
  'ask_expired',
  'not_yours',
  'ask_unsupported',
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

/** An error with a stable code, a sentence and a hint for the next step. */
export class HostError extends Error {
  readonly code: HostErrorCode;
  /** The next step, worded for every interface. */
  readonly hint: string;
  /** Text from other programs, by the name of its field in the answer. */
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

export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** The errno name of a failed system call, or undefined. */
export function errnoOf(error: unknown): string | undefined {
  if (typeof error !== 'object' || error === null) return undefined;
  const code: unknown = Reflect.get(error, 'code');
  return typeof code === 'string' ? code : undefined;
}

/** Whether a disk, or the user's part of it, is full. */
export function isOutOfSpace(error: unknown): boolean {
  return ['ENOSPC', 'EDQUOT'].includes(errnoOf(error) ?? '');
}

/** Hints for a full disk and for a path that cannot be written. */
const workspaceHints = {
  full: 'Free some space and call again; nothing was started.',
  unwritable:
    'Check its owner and permissions, or set TROUPE_HOME to a directory that can be written.'
};

/**
 * Turns a failed write into an error that a user can act on. Returns an error
 * unchanged when it is not from the system or not from a write.
 */
export function storageError(
  error: unknown,
  path: string,
  hints = workspaceHints
): unknown {
  const code = errnoOf(error);
  if (code === undefined || error instanceof HostError) return error;
  const exhausted = limitError(error);
  if (exhausted) return exhausted;
  // A program that could not be started says nothing about the disk.
  if (/^spawn/.test(String(Reflect.get(Object(error), 'syscall'))))
    return error;
  return isOutOfSpace(error)
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

/** The error for a disk that took no file of an action; undefined for others. */
export function diskError(error: unknown, action: string) {
  if (isOutOfSpace(error))
    return new HostError(
      'storage_full',
      `The disk was full when ${action} had to write (${messageOf(error)}).`,
      'Free some space and call again; running agents continue.'
    );
  if (errnoOf(error) !== 'EROFS') return undefined;
  return new HostError(
    'storage_unwritable',
    `The disk was read-only when ${action} had to write (${messageOf(error)}).`,
    'Mount it writable and call again; running agents continue.'
  );
}

/** The exhausted resource, by errno name. */
const exhaustions: Record<string, string> = {
  EMFILE: 'This server may open no more files',
  ENFILE: 'The system can open no more files',
  EAGAIN: 'The system starts no more processes for this account',
  ENOMEM: 'The system has no memory left'
};

/** An error that names the exhausted resource; undefined for other errors. */
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
 * Handles the error of a read of a file that may be missing.
 * @throws the error if a system limit prevented the read, such as no free file
 *   descriptor
 */
export function absentUnlessLimited(error: unknown): undefined {
  if (limitError(error)) throw error;
  return undefined;
}
