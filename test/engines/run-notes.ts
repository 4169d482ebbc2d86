import { appendFileSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/**
 * Notes how an agent of a real CLI ended, for the table in docs/reference/engines.md.
 * Only where TROUPE_ENGINE_RUNS names a file for it.
 */
export function noteRun(engine: string, record: string, id: string): void {
  const notes = process.env.TROUPE_ENGINE_RUNS;
  if (!notes) return;
  const file = join(record, 'spawns', id, 'outcome.json');
  const { status, error_code, exit_code } = JSON.parse(
    readFileSync(file, 'utf8')
  );
  const note = { engine, status, error_code, exit_code };
  appendFileSync(notes, `${JSON.stringify(note)}\n`);
}
