import { realpathSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { isInside } from '../core/paths/troupe-home.ts';

/**
 * Whether a file comes with the workspace: it lies there, or a name there
 * leads to it, or a name elsewhere leads into it.
 * @param workspace its real path
 */
export function comesWith(workspace: string, file: string): boolean {
  const path = resolve(workspace, file);
  const named = join(realPathOf(dirname(path)), basename(path));
  return isInside(workspace, named) || isInside(workspace, realPathOf(path));
}

/**
 * Whether a path lies in the workspace and leads nowhere else.
 * @param workspace its real path
 */
export function staysInside(workspace: string, path: string): boolean {
  return isInside(workspace, realPathOf(resolve(workspace, path)));
}

/** Links resolved as far as the path exists. */
function realPathOf(path: string): string {
  try {
    return realpathSync.native(path);
  } catch {
    const above = dirname(path);
    return above === path ? path : join(realPathOf(above), basename(path));
  }
}
