import type { Digests } from '../core/state/digests.ts';
import type { Asked, Trust } from '../trust/trust.ts';
import { oneLine } from './text.ts';

/**
 * What a workspace asks for, one line each, whole and harmless on a terminal:
 * a part that is not shown could be the one that matters.
 */
export function askedLines(asked: Asked[]): string {
  const isMixed = asked.some(({ isGranted }) => !isGranted);
  return asked
    .map(({ setting, allows, isGranted }) => {
      const state = isMixed && isGranted ? ' (trusted)' : '';
      return `  ${setting}: ${oneLine(allows)}${state}\n`;
    })
    .join('');
}

/** The content that was shown: what is granted is no other. */
export function digestsOfAll({ asked }: Pick<Trust, 'asked'>): Digests {
  return Object.assign({}, ...asked.map(({ digests }) => digests));
}
