import type { PluginFault } from '../core/engines/engine-registry.ts';
import type { Trust } from './trust.ts';

const why = 'left out until the user trusts this workspace: troupe trust';
const changed =
  'left out because it has changed since the user trusted this workspace: troupe trust';

export function leftOutFaults({ leftOut, hasChanged }: Trust): PluginFault[] {
  const problem = hasChanged ? changed : why;
  return leftOut.map(({ setting }) => ({ plugin: setting, problem }));
}

/** More are counted only. */
const mostNamed = 12;

/** One line for stderr; undefined when everything counts. */
export function leftOutLine({
  leftOut,
  hasChanged
}: Trust): string | undefined {
  if (leftOut.length === 0) return undefined;
  const names = leftOut.slice(0, mostNamed).map(({ setting }) => setting);
  const rest = leftOut.length - names.length;
  const all = [...names, ...(rest > 0 ? [`${rest} more`] : [])].join(', ');
  const state = hasChanged
    ? 'has changed since you trusted it'
    : 'is not trusted';
  return `this workspace ${state}, so this is left out: ${all}. To see what it would allow, run: troupe trust`;
}
