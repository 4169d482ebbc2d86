import type { Engine } from '../../plugin.ts';
import type { RunStore } from '../runs/run-store.ts';
import { leaveLine, lineUp } from '../runs/session-turns.ts';
import type { Earlier } from '../runs/spawn-request.ts';
import type { PlannedMember } from './plan-members.ts';
import type { SquadSettings } from './settings.ts';

/** What settles whom a member comes after. */
export type InTurn = Pick<
  PlannedMember,
  'agentId' | 'engine' | 'chat' | 'failure'
>;

type Manner = Pick<SquadSettings, 'executionMode' | 'sequentialDelayMs'>;

/**
 * Whom the members of one squad come after, asked for in their order: the one
 * before in the chat, whoever started that, and the one before in the squad
 * where they take turns.
 */
export class Turns {
  readonly #manner: Manner;
  readonly #store: RunStore;
  /** The last one of each row. */
  readonly #last = new Map<string, string>();

  constructor(manner: Manner, store: RunStore) {
    this.#manner = manner;
    this.#store = store;
  }

  /** @throws the system's error when the disk does not take it. */
  take({ agentId, engine, chat, failure }: InTurn): Earlier[] {
    if (failure) return [];
    const after: Earlier[] = [];
    const inChat =
      chat &&
      // An API's chat has a first turn before anybody stands in its line.
      (lineUp(engine.name, chat.id, agentId, this.#store) ?? chat.lastAgent);
    if (inChat) after.push({ agentId: inChat, delayMs: 0 });
    const row = this.#rowOf(engine);
    if (row === undefined) return after;
    const previous = this.#last.get(row);
    this.#last.set(row, agentId);
    const { sequentialDelayMs: delayMs } = this.#manner;
    if (previous !== undefined) after.push({ agentId: previous, delayMs });
    return after;
  }

  /** Of a member that was not started after all. */
  giveBack({ agentId, engine, chat }: InTurn): void {
    if (chat) leaveLine(engine.name, chat.id, agentId, this.#store);
  }

  #rowOf(engine: Engine): string | undefined {
    const { executionMode } = this.#manner;
    if (executionMode !== undefined)
      return executionMode === 'sequential' ? 'all' : undefined;
    const isAlone = engine.kind === 'cli' && engine.oneAtATime === true;
    return isAlone ? engine.name : undefined;
  }
}
