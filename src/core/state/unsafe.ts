import { HostError } from '../errors.ts';

/** A place of ours that is a link: what we write would land elsewhere. */
export function leadsElsewhere(path: string): HostError {
  return unsafe(
    path,
    'is a symbolic link, so that what is written there would land elsewhere',
    `See where it leads, remove the link (unlink ${path}), and call again.`
  );
}

/** A file of ours that is a file of another place as well. */
export function hasOtherNames(path: string): HostError {
  return unsafe(
    path,
    'has another name (a hard link), so that what is written there would land in another file too',
    `Find the other name (find / -xdev -samefile ${path}), remove this one (unlink ${path}), and call again.`
  );
}

export function isNoFile(path: string): HostError {
  return unsafe(path, 'is no regular file', 'Move it away and call again.');
}

/** A place of ours that others may have prepared, or may change. */
export function unsafe(path: string, why: string, what: string): HostError {
  return new HostError(
    'state_unsafe',
    `${path} ${why}.`,
    `Nothing was written. ${what}`
  );
}
