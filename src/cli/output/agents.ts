import { HostError } from '../../core/errors.ts';
import { didYouMean } from '../../core/nearest.ts';
import type { Run } from '../../core/runs/run.ts';
import type { RunStore } from '../../core/runs/run-store.ts';
import { unknownAgent } from '../../core/runs/start/continue-run.ts';
import { terminalLine } from '../../core/text.ts';
import type { Host } from '../../host/host.ts';
import { exitCodes } from '../commands/command-options.ts';
import { dollars, duration } from './text.ts';

/** The shortest prefix of an id that is completed. */
const shortestPrefix = 4;
/** The most ids that are listed for an ambiguous prefix. */
const mostListed = 8;

/**
 * Completes the prefix of an agent's id. Any other text is returned unchanged.
 * @throws HostError `invalid_input` if several ids have the prefix
 */
export function agentIdIn(store: RunStore, typed: string): string {
  // IAC.md writes ids with a leading #.
  const text = typed.toLowerCase().replace(/^#/, '');
  if (!/^[0-9a-f]+$/.test(text) || text.length < shortestPrefix) return typed;
  if (store.has(text)) return text;
  const matches = store.ids().filter((id) => id.startsWith(text));
  if (matches.length < 2) return matches[0] ?? typed;
  const more = matches.length > mostListed ? ', …' : '';
  throw new HostError(
    'invalid_input',
    `"${typed}" is the beginning of ${matches.length} ids: ${matches.slice(0, mostListed).join(', ')}${more}.`,
    'Give more of it.'
  );
}

/** The error for an id that no agent has, with hints for the command line. */
export function noSuchAgent(
  typed: string,
  { store, orchestrator }: Pick<Host, 'store' | 'orchestrator'>
): HostError {
  const { code, message } = unknownAgent(typed, store);
  const worker = orchestrator.store
    .all()
    .find(
      ({ meta }) => meta.agent_id === typed.toLowerCase().replace(/^#/, '')
    );
  if (worker)
    return new HostError(
      code,
      `${worker.meta.agent_id} is a worker (${worker.meta.name}), which has tasks and no result.`,
      'troupe watch shows what it does, and cancels its task; troupe clean --workers removes ended ones.'
    );
  const suggestion = didYouMean(typed, store.ids());
  return new HostError(code, message, `${suggestion}See: troupe list`);
}

/** The exit code of `run`, `result` and `wait`. */
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
  return `${facts}: ${terminalLine(outcome.error)} [${outcome.error_code}]`;
}
