import type { Engine } from '../src/plugin.ts';
import * as builtin from './builtin.ts';
import * as optional from './optional.ts';

export const builtinEngines = inOrder(Object.values(builtin));
export const optionalEngines = inOrder(Object.values(optional));

/** Those that can work on files come first; each kind by its name. */
function inOrder(engines: Engine[]): Engine[] {
  // Not localeCompare: its first call costs a start 4 ms.
  return engines.sort((a, b) => (rank(a) < rank(b) ? -1 : 1));
}

function rank({ kind, name }: Engine): string {
  return `${kind === 'cli' ? 1 : 2} ${name}`;
}
