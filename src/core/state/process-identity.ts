import { z } from 'zod';
import { lazily } from '../lazily.ts';
import type { ProcessIdentity } from '../runs/run.ts';

/** Shape of a process as files hold it. */
export const identitySchema = lazily(() =>
  z.object({
    pid: z.number().int().min(1),
    start: z.string(),
    place: z.string()
  })
);

/** A process, as it was written down. */
export function parseIdentity(text: string): ProcessIdentity | undefined {
  try {
    return identitySchema().parse(JSON.parse(text));
  } catch {
    return undefined;
  }
}
