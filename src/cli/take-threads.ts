import { stat } from 'node:fs';

/**
 * Node takes its threads with the first such call, and ends the process when
 * it gets none: now, while nothing depends on us.
 */
export function takeThreads(): void {
  stat('.', () => undefined);
}
