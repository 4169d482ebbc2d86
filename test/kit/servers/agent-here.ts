import type { Run } from '../../../src/core/runs/run.ts';
import { idOf, type MadeUp, makeUp } from '../agents/made-up-agents.ts';
import { type HostHere, hostHere } from './host-here.ts';

export const id = idOf(0x11111111);

export interface AgentHere extends HostHere {
  /** Writes the agent with this id into the record, and returns its folder. */
  agent: (made?: Partial<MadeUp>) => string;
  /** @throws before the agent is written */
  run: () => Promise<Run>;
}

/** A host in this process, and one made-up agent with the id `id`. */
export async function agentHere(): Promise<AgentHere> {
  const here = await hostHere();
  return {
    ...here,
    agent: (made = {}) => {
      const all = { agent_id: id, daysAgo: 1, isOpen: true, ...made };
      return makeUp(here.workspace.record, all);
    },
    run: async () => {
      const run = await here.host.tracker.run(id);
      if (!run) throw new Error('There is no such agent.');
      return run;
    }
  };
}
