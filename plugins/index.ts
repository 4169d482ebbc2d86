import type { Engine } from '../src/plugin.ts';
import * as builtin from './builtin.ts';
import * as optional from './optional.ts';

export const builtinEngines = inOrder(Object.values(builtin));
export const optionalEngines = inOrder(Object.values(optional));

/** Those that can work on files come first; each kind by its name. */
function inOrder(engines: Engine[]): Engine[] {
  return engines.sort(
    (a, b) => b.kind.localeCompare(a.kind) || a.name.localeCompare(b.name)
  );
}
