import { existsSync, statSync } from 'node:fs';
import { dirname, extname, join, resolve } from 'node:path';
import { pluginFile } from '../core/engines/plugin-file.ts';
import { readIfThere } from '../core/state/atomic-file.ts';
import { packageDirectory } from '../dist-directory.ts';
import { comesWith } from './places.ts';

interface Place {
  workspace: string;
  /** The configuration that names the plugin. */
  file: string;
}

/**
 * The files of the workspace that a plugin's name stands for: its module, and
 * what that names below. Of a package, only the module it is entered by.
 */
export function pluginFiles(
  name: string,
  { workspace, file }: Place
): string[] {
  const plugin = fileOf(name, dirname(file));
  if (!comesWith(workspace, plugin)) return [];
  const isPackage = plugin.split(/[\\/]/).includes('node_modules');
  return isPackage ? [plugin] : withNamed(plugin, workspace);
}

/** Where it would be, when it is not there. */
function fileOf(name: string, directory: string): string {
  try {
    return pluginFile(name, directory);
  } catch {
    return resolve(directory, name);
  }
}

/** The file of a template, unless it is one of ours. */
export function templateFiles(name: string, workspace: string): string[] {
  const own = resolve(workspace, name);
  const ours = join(packageDirectory(), name);
  if (!existsSync(own) && existsSync(ours)) return [];
  return comesWith(workspace, own) ? [own] : [];
}

/** More would be no plugin, and all are read at each start. */
const mostFiles = 200;
const code = /^\.[cm]?[jt]s$/;
const relativePath = /(['"`])(\.{1,2}\/[^'"`\n]{1,300})\1/g;
const endings = ['', '.js', '.mjs', '.cjs', '.ts', '.json', '/index.js'];

/**
 * A file of code, and the files of the workspace that it names by a relative
 * path in quotes, and so on: what it imports, as far as reading shows that.
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
    return readIfThere(path) ?? '';
  } catch {
    return '';
  }
}

function fileAt(path: string): string | undefined {
  return endings
    .map((ending) => `${path}${ending}`)
    .find((file) => statSync(file, { throwIfNoEntry: false })?.isFile());
}
