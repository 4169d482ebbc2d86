import type { Access } from '../../../plugin/plugin.ts';
import { HostError } from '../../errors.ts';
import type { CallerContext } from '../../runs/admission/caller-context.ts';
import type { RunRecord } from '../../runs/run.ts';
import type { RunStore } from '../../runs/run-store.ts';
import type { Ask, AskAnswer } from '../ask.ts';

/** The door through which an answer comes. */
export type Answerer =
  /** A client of a server, by its name. */
  | { client: string }
  /** A form that a client has shown to a person, by the client's name. */
  | { form: string }
  /** A command line, which is a person's unless an agent runs it. */
  | 'command line'
  /** The page, likewise. It and forms may allow no more than `maxAccess`. */
  | 'page';

interface AuthorityDependencies {
  store: Pick<RunStore, 'recordOf'>;
  origin: Pick<CallerContext, 'parent' | 'depth'>;
  maxAccess: Access;
}

/**
 * Checks that the caller may give this answer: a person may; an agent may if it
 * is above the asker, and allow no more than it may do itself.
 * @returns the fields of the answer that name the caller
 * @throws HostError `not_yours`
 */
export function checkAuthority(
  ask: Ask,
  record: RunRecord,
  decision: AskAnswer['decision'],
  answerer: Answerer,
  { store, origin, maxAccess }: AuthorityDependencies
): Pick<AskAnswer, 'by' | 'who'> {
  const isAgent = origin.parent !== null || origin.depth > 0;
  if (answerer === 'command line' && !isAgent) return { by: 'person' };
  const door = isAgent ? undefined : doorOf(answerer);
  if (door !== undefined) {
    if (decision === 'allow' && lesser(ask.needs, maxAccess) !== ask.needs)
      throw notYours(
        ask,
        `needs ${ask.needs} access, and the configuration allows ${maxAccess}: here it may only be denied`
      );
    return { by: 'person', who: door };
  }
  if (record.ask === 'person')
    throw notYours(ask, 'is for a person, and agents may not answer it');
  if (isAgent && !isAbove(origin.parent, record, store))
    throw notYours(ask, 'is only for the agents above the one that asks');
  const own = origin.parent === null ? 'full' : accessOf(origin.parent, store);
  const ceiling = lesser(own, maxAccess);
  if (decision === 'allow' && lesser(ask.needs, ceiling) !== ask.needs)
    throw notYours(
      ask,
      `needs ${ask.needs} access, and you have ${ceiling}: you may only deny it`
    );
  if (isAgent) return { by: 'coordinator', who: `agent ${origin.parent}` };
  const client =
    typeof answerer === 'object' && 'client' in answerer ? answerer.client : '';
  return { by: 'coordinator', ...(client === '' ? {} : { who: client }) };
}

/** Undefined for answers that come from no person through a server. */
function doorOf(answerer: Answerer): string | undefined {
  if (answerer === 'page') return 'from the page';
  return typeof answerer === 'object' && 'form' in answerer
    ? `form of ${answerer.form === '' ? 'the client' : answerer.form}`
    : undefined;
}

function isAbove(
  agentId: string | null,
  { parent }: RunRecord,
  store: AuthorityDependencies['store']
): boolean {
  const seen = new Set<string>();
  for (let id = parent; id !== null && !seen.has(id); ) {
    if (id === agentId) return true;
    seen.add(id);
    id = store.recordOf(id)?.parent ?? null;
  }
  return false;
}

/** An agent without a record, such as a worker, has no access to give. */
function accessOf(
  agentId: string,
  store: AuthorityDependencies['store']
): Access {
  return store.recordOf(agentId)?.access ?? 'read';
}

const order: Access[] = ['read', 'write', 'full'];

function lesser(one: Access, other: Access): Access {
  return order.indexOf(one) <= order.indexOf(other) ? one : other;
}

function notYours({ ask_id: id }: Ask, why: string): HostError {
  return new HostError(
    'not_yours',
    `The ask ${id} ${why}.`,
    `A person answers it in a terminal: troupe answer ${id}.`
  );
}
