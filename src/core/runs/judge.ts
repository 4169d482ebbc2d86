import type { Failure, FailureCode, Reply } from '../../plugin.ts';
import { EngineFault, unlessAtFault } from '../engines/engine-fault.ts';
import { refusedArguments } from './refused-arguments.ts';
import { type EndStatus, notPrepared, type StopRequest } from './run.ts';

export interface Evidence {
  reply: Reply;
  /** Undefined when the supervisor left none. */
  exitCode: number | undefined;
  stop: StopRequest | undefined;
  /** The run was claimed as never to start. */
  neverStarted: boolean;
  /** The end of stderr. */
  errorText: string;
  /** The end of what stood on stdout and was no event. */
  strayText: string;
  /** Text of a failure → code, the engine's table before ours. */
  classify: (text: string) => FailureCode | undefined;
  label: string;
  /** Its plugin says which versions of the program it was tested with. */
  versioned?: boolean;
  /** Its time limit is the user's to set. */
  isMember?: boolean;
  /** An answer without any words is one, too. */
  maySayNothing?: boolean;
}

export interface Verdict {
  status: EndStatus;
  error: string | null;
  error_code: FailureCode | null;
}

/**
 * How a run ended, from durable facts only, so that every process that looks
 * says the same. A run is completed when the engine said so itself, with exit
 * code 0, and nobody stopped it; everything else has a reason.
 */
export function judge(evidence: Evidence): Verdict {
  const { stop, neverStarted, exitCode, reply, label } = evidence;
  if (stop) return stopped(stop, evidence);
  if (neverStarted && (exitCode ?? 0) === 0)
    return failed(
      'interrupted',
      'interrupted',
      'Never started: the server that had it queued is gone. Spawn it again.'
    );
  if (reply.failure) return fromFailure(reply.failure);
  if (exitCode === undefined)
    return failed(
      'interrupted',
      'interrupted',
      `${label} was killed from outside before it ended; its output so far is kept.`
    );
  if (exitCode !== 0) return nonZero(evidence, exitCode);
  if (!reply.finished) return unfinished(evidence);
  if (reply.text.trim() === '' && !evidence.maySayNothing)
    return failed('failed', 'bad_output', `${label} ended without any answer.`);
  return { status: 'completed', error: null, error_code: null };
}

function stopped(
  stop: StopRequest,
  { label, neverStarted, reply, isMember }: Evidence
): Verdict {
  const because = stop.reason ? `: ${stop.reason}` : '';
  const when = neverStarted ? ' before it started' : '';
  // What it was doing then, such as waiting for a network, tells why.
  const seen = reply.progress ? ` (last seen: ${reply.progress})` : '';
  switch (stop.why) {
    case 'canceled':
      return failed('canceled', 'canceled', `Canceled${when}${because}`);
    case 'timeout':
      return failed(
        'timeout',
        'timeout',
        `${label} was stopped at its time limit${seen}; output so far is kept. ${isMember ? 'Give it a smaller task, or ask the user to raise PROCESS_TIMEOUT_MS.' : 'Spawn again with a larger timeout.'}`
      );
    case 'idle_timeout':
      return failed(
        'timeout',
        'idle_timeout',
        `${label} was stopped because it had put out nothing for too long${seen}.`
      );
    case 'output_limit':
      return failed(
        'failed',
        'output_limit',
        `${label} was stopped because its output passed the limit.`
      );
    case 'retries': {
      const { code, message } = stop.failure ?? unknownFailure;
      return failed(
        'failed',
        code,
        `${label} had failed again and again and was stopped: ${message}`
      );
    }
    case 'disconnect':
      return failed(
        'interrupted',
        'interrupted',
        `Stopped${when} because its server's client left (onDisconnect: stop).`
      );
  }
}

const unknownFailure: Failure = {
  code: 'provider_error',
  message: 'it did not say why.'
};

/** Some refuse in plain words and exit with 0. */
function unfinished(evidence: Evidence): Verdict {
  const { label, strayText, classify } = evidence;
  const words = strayText.trim();
  const said = words === '' ? '' : ` It said: ${lastLines(words)}`;
  const code = words === '' ? undefined : codeOf(words, classify);
  return failed(
    'failed',
    code instanceof EngineFault ? code.failure.code : (code ?? 'bad_output'),
    `${label} exited with code 0 but its output ends before its final event.${said}${code === undefined ? versionHint(evidence) : ''}`
  );
}

function nonZero(evidence: Evidence, exitCode: number): Verdict {
  const { errorText, strayText, classify, label, reply } = evidence;
  const text = errorText.trim() || strayText.trim();
  const said = text === '' ? '' : `: ${lastLines(text)}`;
  // Who was killed may have written anything before.
  const signal = signals.get(exitCode);
  if (signal)
    return failed(
      'interrupted',
      'interrupted',
      `${label} was killed from outside (${signal})${said}`
    );
  // These words are not the engine's.
  if (evidence.neverStarted && exitCode === notPrepared)
    return failed('failed', 'spawn_failed', `${label} could not start${said}`);
  const refused = saidNothing(reply) && refusedArguments(text);
  if (refused)
    return failed(
      'failed',
      'spawn_failed',
      `${label} refused its arguments: ${lastLines(refused)}${versionHint(evidence)}`
    );
  const code = codeOf(text, classify);
  if (code instanceof EngineFault)
    return failed(
      'failed',
      code.failure.code,
      `${label} exited with code ${exitCode}${said}\n${code.message}`
    );
  if (code) return failed('failed', code, `${label} failed${said}`);
  if (exitCode === 126 || exitCode === 127)
    return failed('failed', 'spawn_failed', `${label} could not start${said}`);
  return failed(
    'failed',
    'bad_output',
    `${label} exited with code ${exitCode}${said}`
  );
}

/** Not even that it has begun. */
function saidNothing({ text, finished, sessionId, progress }: Reply): boolean {
  return text === '' && !finished && !sessionId && !progress;
}

/** Another version may want other arguments, and say other things. */
function versionHint({ label, versioned }: Evidence): string {
  if (!versioned) return '';
  return `\nRun "troupe doctor" to see whether this version of ${label} was tested.`;
}

/** What the words mean, or that the plugin which should say so cannot. */
function codeOf(
  text: string,
  classify: Evidence['classify']
): FailureCode | EngineFault | undefined {
  return unlessAtFault<FailureCode | EngineFault | undefined>(
    () => classify(text),
    (fault) => fault
  );
}

/** 128 + number, for the signals that end programs. */
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

function fromFailure(failure: Failure): Verdict {
  return failed(statusOf(failure.code), failure.code, failure.message);
}

function statusOf(code: FailureCode): EndStatus {
  if (code === 'canceled' || code === 'interrupted') return code;
  return code === 'timeout' || code === 'idle_timeout' ? 'timeout' : 'failed';
}

function failed(
  status: EndStatus,
  error_code: FailureCode,
  error: string
): Verdict {
  return { status, error_code, error };
}

/** The end, from a whole word on: half a secret is not known as one. */
function lastLines(text: string): string {
  if (text.length <= 1500) return text;
  const end = text.slice(-1500);
  return `…${end.replace(/^\S+(?=\s)/, '')}`;
}
