import { fchmodSync, fchownSync, fstatSync } from 'node:fs';
import { errnoOf } from '../errors.ts';
import { putInPlace } from './atomic-file.ts';

/** Whose a file is, where that is known, and who may do what with it. */
export interface Kept {
  mode: number;
  uid?: number;
  gid?: number;
}

/**
 * Replaces a file of somebody whole. The new one has its rights and its owner
 * before it has the name: there is no moment in which it is anybody else's,
 * and no link put in its place is followed.
 */
export function replaceKept(path: string, text: string, kept: Kept): void {
  putInPlace(path, text, false, (descriptor) => {
    give(descriptor, kept);
    // A change of owner may take rights away, so they come last.
    fchmodSync(descriptor, kept.mode & 0o777);
  });
}

function give(descriptor: number, kept: Kept): void {
  const now = fstatSync(descriptor);
  const { uid = now.uid, gid = now.gid } = kept;
  if (now.uid === uid && now.gid === gid) return;
  try {
    fchownSync(descriptor, uid, gid);
  } catch (error) {
    // Only root can give files away; others write them as their own.
    if (errnoOf(error) !== 'EPERM' || process.getuid?.() === 0) throw error;
  }
}
