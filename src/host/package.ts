import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import metadata from '../../package.json' with { type: 'json' };

export const version: string = metadata.version;

/** The folder of the built programs, from source or from the bundle. */
export function distDirectory(): string {
  return join(packageDirectory(), 'dist');
}

let found: string | undefined;

/** The folder of this package, from source or from the bundle. */
export function packageDirectory(): string {
  found ??= nearestPackage();
  return found;
}

function nearestPackage(): string {
  let directory = import.meta.dirname;
  while (!existsSync(join(directory, 'package.json'))) {
    const above = dirname(directory);
    if (above === directory) break;
    directory = above;
  }
  return directory;
}
