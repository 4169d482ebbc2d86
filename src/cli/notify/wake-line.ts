import type { Run } from '../../core/runs/run.ts';
import { counted, duration } from '../output/text.ts';

/** The most agents that a line names. */
const mostNamed = 10;

/**
 * One line for a model about agents that have ended. It holds no words of an
 * agent: a client passes it on as if the user had said it.
 * @param running how many other agents of the same call have not ended
 */
export function wakeLine(ended: Run[], running = 0): string {
  const named = ended.slice(0, mostNamed).map(describe).join('; ');
  const rest = ended.length - mostNamed;
  const more = rest > 0 ? `; and ${rest} more, which list names` : '';
  const [first] = ended;
  const facts =
    ended.length === 1 && first
      ? `agent ${named}. Call result {"agent_id":"${first.record.agent_id}"} for its answer.`
      : `${ended.length} agents ended: ${named}${more}. Call result with each agent_id.`;
  return running === 0
    ? facts
    : `${facts} ${counted(running, 'agent')} of the same call ${
        running === 1 ? 'is' : 'are'
      } not done: wait_for_agents waits for the rest.`;
}

/** `1a2b3c4d (codex) completed after 32 s` */
function describe({ record, status, outcome }: Run): string {
  const engine = record.engine.replace(/[^\w.-]+/g, '_');
  const seconds = (outcome?.duration_ms ?? 0) / 1000;
  return `${record.agent_id} (${engine}) ${status} after ${duration(seconds)}`;
}
