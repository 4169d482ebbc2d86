import { delimiter, isAbsolute } from 'node:path';

/** Where a system keeps the programs that every shell script needs. */
const usual = '/usr/bin:/bin';

/**
 * PATH without its empty and relative entries: these mean the working
 * directory, which is a project that anybody may have written. A value with
 * nothing left names the system's own directories, because an empty PATH
 * means the working directory too.
 */
export function absolutePath(path: string): string {
  const kept = path.split(delimiter).filter((entry) => isAbsolute(entry));
  return kept.length > 0 || process.platform === 'win32'
    ? kept.join(delimiter)
    : usual;
}

/** The same for an environment, whatever case the name has on Windows. */
export function withAbsolutePath<Value extends string | undefined>(
  environment: Record<string, Value>
): Record<string, Value | string> {
  const name = Object.keys(environment).find((key) =>
    process.platform === 'win32' ? /^path$/i.test(key) : key === 'PATH'
  );
  const path = name === undefined ? undefined : environment[name];
  return name === undefined || path === undefined
    ? environment
    : { ...environment, [name]: absolutePath(path) };
}
