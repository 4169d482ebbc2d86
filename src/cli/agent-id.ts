import { HostError } from '../core/errors.ts';
import { didYouMean } from '../core/nearest.ts';
import { unknownAgent } from '../core/runs/continue-run.ts';
import type { RunStore } from '../core/runs/run-store.ts';
import type { Host } from '../host.ts';

/** So many characters of an id say which agent is meant, if no other has them. */
const least = 4;
/** Agents told where several are meant. */
const mostTold = 8;

/**
 * The whole id of an agent that is named by its beginning. What is no
 * beginning of any comes back as it is.
 * @throws HostError `invalid_input` when several agents are meant
 */
export function agentIdIn(store: RunStore, typed: string): string {
  // IAC.md has it behind a #.
  const text = typed.toLowerCase().replace(/^#/, '');
  if (!/^[0-9a-f]+$/.test(text) || text.length < least) return typed;
  if (store.has(text)) return text;
  const meant = store.ids().filter((id) => id.startsWith(text));
  if (meant.length < 2) return meant[0] ?? typed;
  const more = meant.length > mostTold ? ', …' : '';
  throw new HostError(
    'invalid_input',
    `"${typed}" is the beginning of ${meant.length} ids: ${meant.slice(0, mostTold).join(', ')}${more}.`,
    'Give more of it.'
  );
}

/** There is no such agent, in the words of the command line. */
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
      'troupe watch shows what it does, and cancels its task; troupe clean --workers removes those that are over.'
    );
  const meant = didYouMean(typed, store.ids());
  return new HostError(code, message, `${meant}See: troupe list`);
}
