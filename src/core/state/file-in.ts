import { sep } from 'node:path';

/**
 * A file in a folder whose path is normal already: `join` makes it so again,
 * and hundreds of agents are looked at several times a second.
 */
export function fileIn(directory: string, name: string): string {
  return directory + sep + name;
}
