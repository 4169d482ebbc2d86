import { existsSync, realpathSync, statSync } from 'node:fs';
import { basename, dirname, extname, join, resolve } from 'node:path';
import { pluginFile } from '../core/engines/load/plugin-file.ts';
import { isInside } from '../core/paths/troupe-home.ts';
import { readIfExists } from '../core/state/files/atomic-file.ts';
import { packageDirectory } from '../host/package.ts';

/**
 * Whether a file comes with the workspace: it is in the workspace, a link in
 * the workspace leads to it, or a link elsewhere leads into the workspace.
 * @param workspace its real path
 */
export function comesWith(workspace: string, file: string): boolean {
  const path = resolve(workspace, file);
  const named = join(realPathOf(dirname(path)), basename(path));
  return isInside(workspace, named) || isInside(workspace, realPathOf(path));
}

/**
 * Whether a path is in the workspace, with its links resolved.
 * @param workspace its real path
 */
export function staysInside(workspace: string, path: string): boolean {
  return isInside(workspace, realPathOf(resolve(workspace, path)));
}

/** Resolves links as far as the path exists. */
function realPathOf(path: string): string {
  try {
    return realpathSync.native(path);
  } catch {
    const above = dirname(path);
    return above === path ? path : join(realPathOf(above), basename(path));
  }
}

/**
 * The files of the workspace that belong to a plugin: its module and the files
 * that it names, or only the entry module of a package.
 * @param file the configuration that names the plugin
 */
export function pluginFiles(
  name: string,
  { workspace, file }: { workspace: string; file: string }
): string[] {
  const plugin = fileOf(name, dirname(file));
  if (!comesWith(workspace, plugin)) return [];
  const isPackage = plugin.split(/[\\/]/).includes('node_modules');
  return isPackage ? [plugin] : withNamed(plugin, workspace);
}

/** The expected path, if the plugin does not exist. */
function fileOf(name: string, directory: string): string {
  try {
    return pluginFile(name, directory);
  } catch {
    return resolve(directory, name);
  }
}

/** The file of a template; empty if it does not come with the workspace. */
export function templateFiles(name: string, workspace: string): string[] {
  const own = resolve(workspace, name);
  const ours = join(packageDirectory(), name);
  if (!existsSync(own) && existsSync(ours)) return [];
  return comesWith(workspace, own) ? [own] : [];
}

/** All files are read at each start, and no plugin needs more. */
const mostFiles = 200;
const code = /^\.[cm]?[jt]s$/;
const relativePath = /(['"`])(\.{1,2}\/[^'"`\n]{1,300})\1/g;
const endings = ['', '.js', '.mjs', '.cjs', '.ts', '.json', '/index.js'];

/**
 * A file of code, with the files of the workspace that it names by a relative
 * path in quotes, recursively: its imports, as far as the text shows them.
 */
export function withNamed(file: string, workspace: string): string[] {
  const found = new Set([file]);
  for (const path of found) {
    if (!code.test(extname(path))) continue;
    for (const [, , name = ''] of textOf(path).matchAll(relativePath)) {
      const named = fileAt(resolve(dirname(path), name));
      if (named === undefined || found.size >= mostFiles) continue;
      if (comesWith(workspace, named)) found.add(named);
    }
  }
  return [...found];
}

function textOf(path: string): string {
  try {
    return readIfExists(path) ?? '';
  } catch {
    return '';
  }
}

function fileAt(path: string): string | undefined {
  return endings
    .map((ending) => `${path}${ending}`)
    .find((file) => statSync(file, { throwIfNoEntry: false })?.isFile());
}
