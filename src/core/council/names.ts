import { isSameOwner, type Owner, type OwnerWitnesses } from './owner.ts';
import type { CouncilState } from './state.ts';

/**
 * The name under which a server's agent takes part. A name belongs to the
 * server that first used it, while that lives, and of a server with several
 * clients to one of them: another one's agent is `name#2`.
 */
export function nameFor(
  asked: string,
  state: CouncilState,
  { self, liveness }: OwnerWitnesses
): string {
  return firstFree(asked, (name) => {
    const holder = holderOf(name, state);
    if (!holder) return true;
    // An agent that was summoned is the only one of its name.
    if (holder.agent_id !== undefined) return false;
    const { owner } = holder;
    return !owner || isSameOwner(owner, self) || liveness(owner) === 'dead';
  });
}

/** A name for somebody new, such as an agent that is summoned. */
export function unusedName(asked: string, state: CouncilState): string {
  return firstFree(asked, (name) => holderOf(name, state) === undefined);
}

interface Holder {
  owner?: Owner | undefined;
  agent_id?: string | undefined;
}

function holderOf(name: string, state: CouncilState): Holder | undefined {
  return (
    state.participants.find(({ agent_name }) => agent_name === name) ??
    state.former_participants?.find(({ agent_name }) => agent_name === name)
  );
}

function firstFree(asked: string, isFree: (name: string) => boolean): string {
  for (let number = 1; ; number += 1) {
    const name = number === 1 ? asked : `${asked}#${number}`;
    if (isFree(name)) return name;
  }
}
