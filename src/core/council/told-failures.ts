import type { View } from './view.ts';

/** Which agents that were summoned and failed are known to whom, here. */
export class ToldFailures {
  readonly #told = new Map<string, Set<string>>();

  /** One of them is news to who gets this view. */
  areNewIn(view: View): boolean {
    const told = this.#told.get(view.agentName);
    return failedIn(view).some((id) => !told?.has(id));
  }

  /** This view has been told. */
  note(view: View): void {
    const failed = failedIn(view);
    // Those of an earlier council do not come back.
    if (failed.length > 0) this.#told.set(view.agentName, new Set(failed));
    else this.#told.delete(view.agentName);
  }
}

function failedIn({ summons }: View): string[] {
  return summons.flatMap(({ agent_id, status }) =>
    status === 'failed' ? [agent_id] : []
  );
}
