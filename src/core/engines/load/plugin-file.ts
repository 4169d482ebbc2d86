import { statSync } from 'node:fs';
import { createRequire } from 'node:module';
import { isAbsolute, join, resolve } from 'node:path';
import { errnoOf } from '../../errors.ts';
import { readIfExists } from '../../state/files/atomic-file.ts';

/**
 * Resolves a path or a package name of the configuration to a file.
 * @throws Error with a message for the user
 */
export function pluginFile(specifier: string, baseDirectory: string): string {
  const isPath = /^\.{1,2}[/\\]/.test(specifier) || isAbsolute(specifier);
  return isPath
    ? fileAt(resolve(baseDirectory, specifier))
    : fileOfPackage(specifier, baseDirectory);
}

function fileAt(path: string): string {
  const stats = statSync(path, { throwIfNoEntry: false });
  if (stats?.isFile()) return path;
  throw new Error(
    stats
      ? `${path} is a directory; name the file in it`
      : `there is no file ${path}; paths start at the configuration file`
  );
}

const packageName = /^(@[a-z0-9][\w.~-]*\/)?[a-z0-9][\w.~-]*/;

function fileOfPackage(specifier: string, baseDirectory: string): string {
  const name = packageName.exec(specifier)?.[0];
  const rest = specifier.slice(name?.length ?? 0);
  if (name === undefined || !/^(\/.+)?$/.test(rest))
    throw new Error(
      'it is neither a path that starts with "./" or "/" nor the name of a package'
    );
  const { resolve: find } = createRequire(join(baseDirectory, 'package.json'));
  const directory = (find.paths(specifier) ?? [])
    .map((modules) => join(modules, name))
    .find((path) => statSync(path, { throwIfNoEntry: false })?.isDirectory());
  if (directory === undefined)
    throw new Error(notInstalled(specifier, name, baseDirectory));
  const entry = entryIn(exportsOf(directory, name), `.${rest}`);
  if (entry !== undefined) return builtFile(join(directory, entry), name);
  try {
    return find(specifier);
  } catch (error) {
    const isHidden = errnoOf(error) === 'ERR_PACKAGE_PATH_NOT_EXPORTED';
    const problem = isHidden ? 'does not export' : 'has no file for';
    throw new Error(
      `the package ${name} in ${directory} ${problem} "${specifier}"; is it built?`
    );
  }
}

function notInstalled(specifier: string, name: string, base: string): string {
  const isFile = statSync(join(base, specifier), { throwIfNoEntry: false });
  return isFile?.isFile()
    ? `there is no package of that name; for the file, write "./${specifier}"`
    : `the package ${name} is not installed in ${base}; run there: npm install ${name}`;
}

function exportsOf(directory: string, name: string): unknown {
  try {
    const text = readIfExists(join(directory, 'package.json')) ?? '{}';
    const { exports } = { exports: undefined, ...JSON.parse(text) };
    return exports;
  } catch {
    throw new Error(
      `the package ${name} in ${directory} is broken; install it again`
    );
  }
}

function builtFile(path: string, name: string): string {
  if (statSync(path, { throwIfNoEntry: false })?.isFile()) return path;
  throw new Error(`the package ${name} has no file ${path}; is it built?`);
}

/** Resolves a subpath against the `exports` of a package.json. */
function entryIn(exports: unknown, path: string): string | undefined {
  const isMap = typeof exports === 'object' && exports !== null;
  const hasPaths =
    isMap && Object.keys(exports).some((key) => key.startsWith('.'));
  if (hasPaths) return conditionIn(Reflect.get(exports, path));
  return path === '.' ? conditionIn(exports) : undefined;
}

function conditionIn(entry: unknown): string | undefined {
  if (typeof entry === 'string') return entry;
  if (typeof entry !== 'object' || entry === null) return undefined;
  return ['node', 'import', 'module-sync', 'default']
    .map((key) => conditionIn(Reflect.get(entry, key)))
    .find((found) => found !== undefined);
}
