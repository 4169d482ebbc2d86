import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { locate } from '../../adapters/child-process/locate.ts';
import type { Client } from '../clients.ts';

export interface Surroundings {
  workspace: string;
  home: string;
  /** Default: PATH. */
  path?: string;
}

/** What shows that a client is on this machine, if anything does. */
export function traceOf(
  { programs, traces, localTraces }: Client,
  { workspace, home, path }: Surroundings
): string | undefined {
  const program = programs
    .map((name) => locate(name, path))
    .find((found) => found !== undefined);
  return (
    program ??
    [
      ...traces.map((name) => resolve(home, name)),
      ...localTraces.map((name) => resolve(workspace, name))
    ].find((place) => existsSync(place))
  );
}
