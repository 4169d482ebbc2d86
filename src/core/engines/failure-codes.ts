import type { Engine, FailureCode } from '../../plugin.ts';

/** Every code there is: the contract itself holds types only. */
export const failureCodes: FailureCode[] = [
  'not_installed',
  'not_logged_in',
  'auth',
  'quota',
  'rate_limited',
  'model_not_found',
  'permission_denied',
  'context_too_long',
  'network',
  'provider_error',
  'content_refused',
  'bad_output',
  'output_limit',
  'session_busy',
  'timeout',
  'idle_timeout',
  'canceled',
  'interrupted',
  'spawn_failed'
];

/**
 * What the words of a failure mean, for engines that give no code. Ordered:
 * the first that matches wins, the particular before the general.
 */
const patterns: [RegExp, FailureCode][] = [
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

/** The engine's own reading first, then the table. */
export function classifyWith(
  engine: Engine | undefined
): (text: string) => FailureCode | undefined {
  return (text) =>
    engine?.failure?.(text) ??
    patterns.find(([pattern]) => pattern.test(text))?.[1];
}
