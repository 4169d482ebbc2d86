/**
 * Shows the draws of `npm run mutate -- --output bench/mutants.json`, added up:
 * each takes an hour, so they are drawn apart from the benches. Two fields of
 * that file are added by hand: `since`, the test that detects a survivor by now,
 * and `why` none does.
 */
import { join } from 'node:path';
import { readDraws } from '../scripts/mutate/draws.mjs';
import { drawsReport } from './mutants-report.mjs';
import { runBench } from './support.mjs';

await runBench(1, () => ({
  title: 'Defects planted in production code',
  ...drawsReport(readDraws(join(import.meta.dirname, 'mutants.json')))
}));
