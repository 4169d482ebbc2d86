import type { Redact } from './redact.ts';
import { redactLong } from './redact-long.ts';

/** A turn without the secrets in any of its texts. */
export async function redactTurn<Of extends object>(
  turn: Of,
  redact: Redact
): Promise<Of> {
  const clean = { ...turn };
  for (const [name, value] of Object.entries(turn))
    if (typeof value === 'string' && name !== 'kind')
      Object.assign(clean, {
        [name]: (await redactLong(value, redact)).join('')
      });
  return clean;
}
