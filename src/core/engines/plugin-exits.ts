import { sep } from 'node:path';
import { fileURLToPath } from 'node:url';

const directories = new Set<string>();

/**
 * From now on, code below a directory cannot end the process: a plugin may be
 * a program by mistake, and `process.exit` would take the server along.
 */
export function refuseExits(directory: string): void {
  if (directories.size === 0) watchExit();
  directories.add(directory + sep);
}

/** An error that nobody caught, of a plugin's own promise or timer. */
export function isStray(error: unknown): boolean {
  return error instanceof Error && filesIn(error).some(isPlugin);
}

function watchExit(): void {
  const exit = process.exit.bind(process);
  process.exit = (code) => {
    const [ours, ...callers] = filesIn(new Error('exit'));
    if (callers.some((file) => file !== ours && isPlugin(file)))
      throw new Error('it called process.exit, which a plugin may not');
    return exit(code);
  };
}

/** What a plugin needs lies below it too; so may we. */
function isPlugin(file: string): boolean {
  return [...directories].some(
    (directory) =>
      file.startsWith(directory) &&
      !file.slice(directory.length).split(sep).includes('node_modules')
  );
}

/** `at name (file:///path/x.mjs:1:2)`, `at async /path/x.cjs:1:2` */
function filesIn({ stack = '' }: Error): string[] {
  const places = stack.matchAll(
    /^ +at (?:.*\()?(?:async )?(.+?):\d+:\d+\)?$/gm
  );
  return [...places].flatMap(([, place = '']) => {
    if (!place.startsWith('file:')) return [place];
    try {
      return [fileURLToPath(place)];
    } catch {
      return [];
    }
  });
}
