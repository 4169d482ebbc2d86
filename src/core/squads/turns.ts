import type { Engine } from '../../plugin.ts';
import { unknownAgent } from '../runs/continue-run.ts';
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

/** Of programs, those that want a place at once: in no row, or its first. */
export function beginners<Member extends InTurn>(
  members: Member[],
  manner: Manner
): Member[] {
  const begun = new Set<string>();
  return members.filter(({ engine, chat, failure }) => {
    if (failure) return false;
    const rows = [rowOf(engine, manner), chat && `${engine.name} ${chat.id}`];
    const known = rows.filter((row) => row !== undefined);
    const isFirst = known.every((row) => !begun.has(row));
    for (const row of known) begun.add(row);
    return isFirst && engine.kind === 'cli';
  });
}

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
  /** In the row of who asked last, the one before it. */
  #before: string | undefined;

  constructor(manner: Manner, store: RunStore) {
    this.#manner = manner;
    this.#store = store;
  }

  /**
   * @throws the system's error when the disk does not take it, HostError
   *   `unknown_agent` when the chat was cleaned away since it was looked for
   */
  take({ agentId, engine, chat, failure }: InTurn): Earlier[] {
    if (failure) return [];
    const inChat = chat
      ? lineUp(engine.name, chat.id, agentId, this.#store)
      : [];
    // An API has its chats on our disk; from here on nobody removes this one.
    if (chat && engine.kind === 'api' && !this.#store.has(chat.id))
      throw unknownAgent(chat.id, this.#store);
    const after = inChat.map((agentId): Earlier => ({ agentId, delayMs: 0 }));
    const row = this.#rowOf(engine);
    if (row === undefined) return after;
    const previous = this.#last.get(row);
    this.#before = previous;
    this.#last.set(row, agentId);
    const { sequentialDelayMs: delayMs } = this.#manner;
    if (previous !== undefined) after.push({ agentId: previous, delayMs });
    return after;
  }

  /** Of a member that was not started after all. */
  giveBack({ agentId, engine, chat }: InTurn): void {
    if (chat) leaveLine(engine.name, chat.id, agentId, this.#store);
    this.pass({ agentId, engine });
  }

  /** Of the last one to ask, which has ended at once: nobody comes after it. */
  pass({ agentId, engine }: Pick<InTurn, 'agentId' | 'engine'>): void {
    const row = this.#rowOf(engine);
    if (row === undefined || this.#last.get(row) !== agentId) return;
    if (this.#before === undefined) this.#last.delete(row);
    else this.#last.set(row, this.#before);
  }

  #rowOf(engine: Engine): string | undefined {
    return rowOf(engine, this.#manner);
  }
}

function rowOf(engine: Engine, { executionMode }: Manner): string | undefined {
  if (executionMode !== undefined)
    return executionMode === 'sequential' ? 'all' : undefined;
  const isAlone = engine.kind === 'cli' && engine.oneAtATime === true;
  return isAlone ? engine.name : undefined;
}
