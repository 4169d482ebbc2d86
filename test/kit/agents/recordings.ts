import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** What a real CLI put out for one case, as it was recorded. */
export interface Recording {
  engine: string;
  case: string;
  exitCode: number | null;
  stdout: string;
  stderr: string;
}

const fixtures = join(import.meta.dirname, '../../../plugins/fixtures');

/** Names of the engines that have recordings. */
export function recordedEngines(): string[] {
  return existsSync(fixtures) ? readdirSync(fixtures).sort() : [];
}

export function recordingsOf(engine: string): Recording[] {
  return readdirSync(join(fixtures, engine))
    .filter((name) => name.endsWith('.json'))
    .sort()
    .map((name) =>
      JSON.parse(readFileSync(join(fixtures, engine, name), 'utf8'))
    );
}
