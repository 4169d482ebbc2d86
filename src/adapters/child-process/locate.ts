import { accessSync, constants, statSync } from 'node:fs';
import { delimiter, isAbsolute, join } from 'node:path';

/**
 * The absolute path of a program on PATH, or undefined. Empty and relative
 * entries are skipped, because they refer to the working directory.
 */
export function locate(
  command: string,
  path = process.env.PATH ?? ''
): string | undefined {
  const extensions =
    process.platform === 'win32'
      ? (process.env.PATHEXT ?? '.EXE;.CMD;.BAT').split(';')
      : [''];
  const folders = isAbsolute(command)
    ? ['']
    : path.split(delimiter).filter((entry) => isAbsolute(entry));
  for (const folder of folders) {
    for (const extension of extensions) {
      const candidate = `${folder === '' ? command : join(folder, command)}${extension}`;
      if (isProgram(candidate)) return candidate;
    }
  }
  return undefined;
}

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  } catch {
    return false;
  }
}
