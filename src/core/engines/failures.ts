import type { Engine, Failure, FailureCode } from '../../plugin/plugin.ts';
import { collapseWhitespace, cutAtWord } from '../text.ts';

/** A plugin threw, or returned a value that violates the contract. */
export class EngineFault extends Error {
  /** The failure with which the agent ends. */
  readonly failure: Failure;

  constructor(
    engine: string,
    member: string,
    problem: string,
    code: FailureCode = 'spawn_failed'
  ) {
    super(`The plugin ${engine} is at fault: ${member} ${problem}.`);
    this.name = 'EngineFault';
    this.failure = { code, message: this.message };
  }
}

/** Runs a function, and returns `otherwise` if it throws an EngineFault. */
export function catchEngineFault<T>(
  run: () => T,
  otherwise: (fault: EngineFault) => T
): T {
  try {
    return run();
  } catch (error) {
    if (error instanceof EngineFault) return otherwise(error);
    throw error;
  }
}

/** The message of any thrown value, on one line of at most 500 characters. */
export function wordsOf(thrown: unknown): string {
  try {
    const message: unknown = thrown instanceof Error ? thrown.message : thrown;
    const words = collapseWhitespace(String(message));
    return cutAtWord(words, 500) || 'nothing';
  } catch {
    return 'something without words';
  }
}

/** All failure codes; the plugin contract contains only their type. */
export const failureCodes: FailureCode[] = [
  'not_installed',
  'not_logged_in',
  'auth',
  'quota',
  'budget',
  'rate_limited',
  'model_not_found',
  'permission_denied',
  'context_too_long',
  'network',
  'provider_error',
  'content_refused',
  'bad_output',
  'output_limit',
  'storage_full',
  'session_busy',
  'timeout',
  'idle_timeout',
  'canceled',
  'interrupted',
  'spawn_failed'
];

/**
 * Maps failure messages to codes, for engines that report no code. The first
 * match wins, so specific patterns precede general ones.
 */
const patterns: [RegExp, FailureCode][] = [
  [
    /maximum (number of turns|budget)|budget (was )?(reached|exceeded)/i,
    'budget'
  ],
  [
    /not logged in|please (run )?\/?log ?in|no authentication/i,
    'not_logged_in'
  ],
  [
    /context (length|window)|prompt is too long|too many tokens/i,
    'context_too_long'
  ],
  [/quota|insufficient (credit|balance)|usage limit|billing/i, 'quota'],
  [/rate.?limit|too many requests|\b429\b/i, 'rate_limited'],
  [
    /model.{0,60}(not found|does not exist|not supported|unknown)|unknown model|invalid model/i,
    'model_not_found'
  ],
  [/unauthori[sz]ed|invalid (api )?key|authentication|\b401\b/i, 'auth'],
  [/permission denied|forbidden|\b403\b|not permitted/i, 'permission_denied'],
  [
    /econn(refused|reset)|enotfound|eai_again|etimedout|network|connection (refused|error)|fetch failed|dns/i,
    'network'
  ],
  [/content (policy|filter)|safety|refus(ed|al)/i, 'content_refused'],
  [/\b5\d\d\b|internal server error|overloaded|unavailable/i, 'provider_error']
];

/** The engine's own classification takes precedence over the patterns. */
export function classifyWith(
  engine: Engine | undefined
): (text: string) => FailureCode | undefined {
  return (text) =>
    engine?.failure?.(text) ??
    patterns.find(([pattern]) => pattern.test(text))?.[1];
}
