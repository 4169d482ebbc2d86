import type { Engine } from '../../../plugin/plugin.ts';

/** `x-y` → `spawn_x_y`. */
export function toolNameOf(engine: Engine): string {
  return `spawn_${engine.name.replaceAll('-', '_')}`;
}
