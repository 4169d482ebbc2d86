import { createHash } from 'node:crypto';

/** Characters of an error that a record holds. */
export const mostErrorChars = 4000;

/** Of an error that a record has only the beginning of. */
export interface WithLongError {
  whole_error?: {
    chars: number;
    sha256: string;
    /** Relative to the workspace: the outcome that holds it. */
    path: string;
  };
}

/** Nothing for an error that a record holds whole. */
export function longErrorOf(error: string | null, path: string): WithLongError {
  if (error === null || error.length <= mostErrorChars) return {};
  const sha256 = createHash('sha256').update(error).digest('hex');
  return { whole_error: { chars: error.length, sha256, path } };
}
