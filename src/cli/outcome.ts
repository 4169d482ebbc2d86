import type { Run } from '../core/runs/run.ts';
import { exitCodes } from './shared.ts';
import { dollars, duration, oneLine } from './text.ts';

/** The same rule for `run`, `result` and `wait`. */
export function exitCodeOf(runs: Run[]): number {
  if (runs.some((run) => !run.outcome)) return exitCodes.unfinished;
  return runs.every((run) => run.status === 'completed')
    ? exitCodes.done
    : exitCodes.failed;
}

/** How a run ended, in one line. */
export function describeOutcome({ record, status, outcome }: Run): string {
  const { agent_id: id, label } = record;
  if (!outcome) return `${label} ${id} is ${status}.`;
  const cost = dollars(outcome.cost_usd);
  const effort = [duration(outcome.duration_ms / 1000), cost].filter(Boolean);
  const facts = `${label} ${id} ${status} (${effort.join(', ')})`;
  if (outcome.error === null) return facts;
  return `${facts}: ${oneLine(outcome.error)} [${outcome.error_code}]`;
}
