/** The options of every bench. */
import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';

const root = join(import.meta.dirname, '..');

/**
 * `--node PATH` uses another Node binary, `--troupe FILE` another build;
 * `--runs N` sets the number of samples; `--check` exits with 1 when a guard
 * is exceeded; `--json` prints the reports for run.mjs.
 */
export function benchOptions(defaultRuns, more) {
  const { values } = parseArgs({
    options: {
      ...more,
      node: { type: 'string', default: process.execPath },
      troupe: { type: 'string', default: join(root, 'dist', 'troupe.cjs') },
      runs: { type: 'string', default: String(defaultRuns) },
      check: { type: 'boolean', default: false },
      json: { type: 'boolean', default: false }
    }
  });
  if (!existsSync(values.troupe))
    throw new Error(`${values.troupe} is missing: run npm run build first`);
  return {
    ...values,
    node: resolve(values.node),
    troupe: resolve(values.troupe),
    runs: Number(values.runs)
  };
}
