import type { Failure, FailureCode, Reply } from '../../../plugin/plugin.ts';
import { catchEngineFault, EngineFault } from '../../engines/failures.ts';
import { withoutHalfWord } from '../../text.ts';
import { type EndStatus, notPrepared } from '../run.ts';
import type { StopRequest } from '../run-files.ts';

export interface Evidence {
  reply: Reply;
  /** Undefined when the supervisor recorded none. */
  exitCode: number | undefined;
  stop: StopRequest | undefined;
  /** The run has no claim, or was claimed as one that never starts. */
  neverStarted: boolean;
  /** Its server was about to start it. */
  wasPrepared?: boolean;
  /** It has no exit code, and its processes are invisible from here. */
  unseen?: boolean;
  /** Path of its worktree, if that was deleted during the run. */
  lostTree?: string | undefined;
  /** The end of stderr. */
  errorText: string;
  /** The end of the stdout text that is not part of an event. */
  strayText: string;
  /** Maps the text of a failure to a code, by the engine's table, then ours. */
  classify: (text: string) => FailureCode | undefined;
  label: string;
  /** Its plugin names the tested versions of the program. */
  versioned?: boolean;
  /** It is a member of a squad: only the user can raise its time limit. */
  isMember?: boolean;
  /** Why its output is incomplete. */
  loss?: Failure | undefined;
  /**
   * Its program reports each end of its own as an event, as that of an API
   * agent does. Without one, the process that made its call was killed.
   */
  reportsItsEnd?: boolean;
  /** An empty answer is valid. */
  maySayNothing?: boolean;
}

export interface Verdict {
  status: EndStatus;
  error: string | null;
  error_code: FailureCode | null;
}

/**
 * How a run ended, from durable facts only, so that every process reaches the
 * same verdict. A run is completed when its engine said so, its exit code is 0
 * and it was not stopped; every other end has a reason.
 */
export function classifyOutcome(evidence: Evidence): Verdict {
  const { stop, neverStarted, exitCode, reply, label, loss } = evidence;
  // On a full disk, the output does not grow, so the agent seems silent.
  const isSilenced = stop?.why === 'idle_timeout' && loss !== undefined;
  if (stop && !isSilenced) return stopped(stop, evidence);
  if (neverStarted && (exitCode ?? 0) === 0)
    return interrupted(
      evidence.wasPrepared
        ? 'Never started: its server was killed while it prepared it, and no server or command that has its engine and access took over in time. Spawn it again.'
        : 'Never started: the server that had it queued is gone. Spawn it again.'
    );
  if (evidence.lostTree !== undefined)
    return interrupted(
      `Its worktree ${evidence.lostTree} was deleted while it ran, with its uncommitted work; its output is kept.`
    );
  if (loss && exitCode !== undefined) return ended(loss.code, loss.message);
  if (reply.failure) return ended(reply.failure.code, reply.failure.message);
  if (exitCode === undefined && evidence.unseen)
    return interrupted(
      `${label} gave no sign of life for two minutes: its container or machine was stopped or restarted. Its output so far is kept.`
    );
  if (exitCode === undefined) return killed(label);
  if (exitCode !== 0) return nonZero(evidence, exitCode);
  if (!reply.finished)
    return evidence.reportsItsEnd ? killed(label) : unfinished(evidence);
  if (reply.text.trim() === '' && !evidence.maySayNothing)
    return failed('bad_output', `${label} ended without any answer.`);
  return { status: 'completed', error: null, error_code: null };
}

function stopped(
  stop: StopRequest,
  { label, neverStarted, reply, isMember, unseen }: Evidence
): Verdict {
  const because = stop.reason ? `: ${stop.reason}` : '';
  const when = neverStarted ? ' before it started' : '';
  // The last progress, such as waiting for a network, explains the stop.
  const seen = reply.progress
    ? ` (last seen: ${withoutHalfWord(reply.progress)})`
    : '';
  switch (stop.why) {
    case 'canceled':
      return ended(
        'canceled',
        `Canceled${when}${because}${unseen ? `. ${unseenEnd}` : ''}`
      );
    case 'timeout':
      return ended(
        'timeout',
        `${label} was stopped at its time limit${seen}; output so far is kept. ${isMember ? 'Give it a smaller task, or ask the user to raise PROCESS_TIMEOUT_MS.' : 'Spawn again with a larger timeout.'}`
      );
    case 'idle_timeout':
      return ended(
        'idle_timeout',
        `${label} was stopped because it had printed nothing for too long${seen}.`
      );
    case 'output_limit':
      return failed(
        'output_limit',
        `${label} was stopped because its output passed the limit.`
      );
    case 'retries': {
      const { code, message } = stop.failure ?? unknownFailure;
      return failed(
        code,
        `${label} ${stop.reason ?? 'had failed again and again'} and was stopped: ${message}`
      );
    }
    case 'disconnect':
      return interrupted(
        neverStarted
          ? "Never started: its server's client left before that. Spawn it again."
          : "Stopped because its server's client left (onDisconnect: stop)."
      );
  }
}

/** Added for a canceled agent whose processes are invisible from here. */
export const unseenEnd =
  'It was started on another machine or in another container, so its processes could not be looked at from here; if they still live, they end within 15 seconds.';

const unknownFailure: Failure = {
  code: 'provider_error',
  message: 'it did not say why.'
};

/** Some programs refuse in plain text and exit with 0. */
function unfinished(evidence: Evidence): Verdict {
  const { label, strayText, classify } = evidence;
  const words = strayText.trim();
  const said = words === '' ? '' : ` It said: ${lastLines(words)}`;
  const code = words === '' ? undefined : codeOf(words, classify);
  return failed(
    code instanceof EngineFault ? code.failure.code : (code ?? 'bad_output'),
    `${label} exited with code 0 but its output ends before its final event.${said}${code === undefined ? versionHint(evidence) : ''}`
  );
}

function nonZero(evidence: Evidence, exitCode: number): Verdict {
  const { errorText, strayText, classify, label, reply } = evidence;
  const text = errorText.trim() || strayText.trim();
  const said = text === '' ? '' : `: ${lastLines(text)}`;
  // The text is not classified: a killed program may have written anything.
  const signal = signals.get(exitCode);
  if (signal)
    return interrupted(`${label} was killed from outside (${signal})${said}`);
  // troupe wrote this text, so the engine's table does not apply.
  if (evidence.neverStarted && exitCode === notPrepared)
    return failed('spawn_failed', `${label} could not start${said}`);
  const refused = saidNothing(reply) && refusedArguments(text);
  if (refused)
    return failed(
      'spawn_failed',
      `${label} refused its arguments: ${lastLines(refused)}${versionHint(evidence)}`
    );
  const code = codeOf(text, classify);
  if (code instanceof EngineFault)
    return failed(
      code.failure.code,
      `${label} exited with code ${exitCode}${said}\n${code.message}`
    );
  if (code) return failed(code, `${label} failed${said}`);
  if (exitCode === 126 || exitCode === 127)
    return failed('spawn_failed', `${label} could not start${said}`);
  return failed('bad_output', `${label} exited with code ${exitCode}${said}`);
}

/**
 * The line in which a program refuses its arguments, in the wording of common
 * argument parsers. Only warnings may precede the line: after other output, it
 * comes from a tool that the program started. Help may follow.
 */
export function refusedArguments(text: string): string | undefined {
  return refusal.exec(text)?.[1]?.trim();
}

const refusal = new RegExp(
  `^(?:\\s*\\n|.*\\bwarn(?:ing)?\\b.*\\n)*((?:[\\w.-]+: )?(?:error: )?(?:${[
    '(?:unknown|unexpected|unrecognized) (?:option|argument|flag)s?\\b',
    "invalid (?:option -- '|value ')",
    "option '.*' argument '.*' is invalid",
    'flag provided but not defined'
  ].join('|')}).*)`,
  'i'
);

/** True when the engine has reported nothing, not even its start. */
function saidNothing({ text, finished, sessionId, progress }: Reply): boolean {
  return text === '' && !finished && !sessionId && !progress;
}

/** Points to the version check: versions differ in arguments and events. */
function versionHint({ label, versioned }: Evidence): string {
  if (!versioned) return '';
  return `\nRun "troupe doctor" to see whether this version of ${label} was tested.`;
}

/** The code of a text, or the fault of the plugin that classifies it. */
function codeOf(
  text: string,
  classify: Evidence['classify']
): FailureCode | EngineFault | undefined {
  return catchEngineFault<FailureCode | EngineFault | undefined>(
    () => classify(text),
    (fault) => fault
  );
}

/** Exit codes (128 + number) of the signals that end programs. */
const signals = new Map([
  [129, 'SIGHUP'],
  [130, 'SIGINT'],
  [131, 'SIGQUIT'],
  [134, 'SIGABRT'],
  [135, 'SIGBUS'],
  [136, 'SIGFPE'],
  [137, 'SIGKILL'],
  [139, 'SIGSEGV'],
  [141, 'SIGPIPE'],
  [143, 'SIGTERM']
]);

function killed(label: string): Verdict {
  return interrupted(
    `${label} was killed from outside before it ended; its output so far is kept.`
  );
}

function interrupted(error: string): Verdict {
  return ended('interrupted', error);
}

/** A verdict with the status that belongs to the code. */
function ended(error_code: FailureCode, error: string): Verdict {
  return { status: statusOf(error_code), error_code, error };
}

function statusOf(code: FailureCode): EndStatus {
  if (code === 'canceled' || code === 'interrupted') return code;
  return code === 'timeout' || code === 'idle_timeout' ? 'timeout' : 'failed';
}

/** A verdict with the status `failed`, whatever the code. */
function failed(error_code: FailureCode, error: string): Verdict {
  return { status: 'failed', error_code, error };
}

/** The end from a whole word on, because half a secret is not redacted. */
function lastLines(text: string): string {
  if (text.length <= 1500) return text;
  const end = text.slice(-1500);
  return `…${end.replace(/^\S+(?=\s)/, '')}`;
}
