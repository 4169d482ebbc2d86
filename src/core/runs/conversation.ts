import type { Turn } from '../../plugin.ts';
import { readIfThere } from '../state/atomic-file.ts';
import { ownFile } from './own-file.ts';
import type { RunRecord } from './run.ts';
import type { RunStore } from './run-store.ts';
import { holdersOf } from './session-turns.ts';

/**
 * What was said in an API agent's session before its own turn, from disk: a
 * provider remembers nothing. Turns without a whole answer are left out. The
 * session is named after its first agent.
 */
export function turnsBefore(
  { agent_id, engine, session_id, continues }: RunRecord,
  store: RunStore
): Turn[] {
  if (session_id === null || continues === null) return [];
  const agents = [session_id, ...holdersOf(engine, session_id, store)];
  const own = agents.indexOf(agent_id);
  return agents.slice(0, own < 0 ? undefined : own).flatMap((id) => {
    const outcome = store.outcomeOf(id);
    if (outcome?.status !== 'completed') return [];
    const directory = store.directoryOf(id);
    const [prompt, answer] = ['prompt.txt', outcome.result_file].map((name) => {
      const path = ownFile(directory, name);
      return path === undefined ? undefined : readIfThere(path);
    });
    return prompt && answer ? [{ prompt, answer }] : [];
  });
}
