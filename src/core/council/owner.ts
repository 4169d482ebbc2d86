import { isSameProcess, type ProcessIdentity } from '../runs/run.ts';
import type { Witnesses } from '../state/file-lock.ts';

/** Whose agents a name belongs to: a server's, or one of its clients'. */
export interface Owner extends ProcessIdentity {
  /** Which client, where a server has several. Unique in its process. */
  session?: string | undefined;
}

export interface OwnerWitnesses {
  self: Owner;
  liveness: (owner: Owner) => ReturnType<Witnesses['liveness']>;
}

export function isSameOwner(one: Owner, other: Owner): boolean {
  return isSameProcess(one, other) && one.session === other.session;
}

/**
 * One client of this process as an owner of its own. What belonged to a
 * client that has left is free here; elsewhere it stays this process's.
 */
export function ownerWitnesses(
  { self, liveness }: Witnesses,
  session: string,
  isThere: (session: string) => boolean
): OwnerWitnesses {
  return {
    self: { ...self, session },
    liveness: (owner) =>
      owner.session !== undefined &&
      isSameProcess(owner, self) &&
      !isThere(owner.session)
        ? 'dead'
        : liveness(owner)
  };
}
