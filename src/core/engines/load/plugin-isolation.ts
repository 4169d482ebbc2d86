import { sep } from 'node:path';
import { Readable } from 'node:stream';
import { fileURLToPath } from 'node:url';

let depth = 0;
let undo = (): void => undefined;

/**
 * Runs plugin code with stdout redirected to stderr, because another program
 * parses the stdout of this process. Calls may nest.
 */
export function withoutStdout<T>(run: () => T): T {
  redirectStdout();
  let result: T;
  try {
    result = run();
  } catch (error) {
    restoreStdout();
    throw error;
  }
  if (result instanceof Promise) result.then(restoreStdout, restoreStdout);
  else restoreStdout();
  return result;
}

function redirectStdout(): void {
  depth += 1;
  if (depth > 1) return;
  const { stdout, stderr } = process;
  const { write } = stdout;
  stdout.write = stderr.write.bind(stderr);
  undo = () => {
    stdout.write = write;
  };
}

function restoreStdout(): void {
  depth -= 1;
  if (depth === 0) undo();
}

/**
 * Runs plugin code with an empty stdin. A plugin that reads stdin at import
 * would otherwise consume the client's messages.
 */
export async function withoutStdin<T>(run: () => Promise<T>): Promise<T> {
  const real = Object.getOwnPropertyDescriptor(process, 'stdin');
  if (!real) return run();
  const value = Readable.from([]);
  Object.defineProperty(process, 'stdin', { configurable: true, value });
  try {
    return await run();
  } finally {
    Object.defineProperty(process, 'stdin', real);
  }
}

const pluginDirectories = new Set<string>();

/**
 * Makes `process.exit` throw for code below this directory. A plugin may be a
 * program by mistake, and its exit would end the server.
 */
export function refuseExits(directory: string): void {
  if (pluginDirectories.size === 0) interceptExit();
  pluginDirectories.add(directory + sep);
}

/** Whether the stack of an uncaught error contains a file of a plugin. */
export function isStray(error: unknown): boolean {
  return error instanceof Error && filesIn(error).some(isPlugin);
}

function interceptExit(): void {
  const exit = process.exit.bind(process);
  process.exit = (code) => {
    const [ours, ...callers] = filesIn(new Error('exit'));
    if (callers.some((file) => file !== ours && isPlugin(file)))
      throw new Error('it called process.exit, which a plugin may not');
    return exit(code);
  };
}

/** Ignores the plugin's `node_modules`, which may contain troupe itself. */
function isPlugin(file: string): boolean {
  return [...pluginDirectories].some(
    (directory) =>
      file.startsWith(directory) &&
      !file.slice(directory.length).split(sep).includes('node_modules')
  );
}

/** A path may itself contain a parenthesis, so a file begins as a path does. */
const frame =
  /^ +at (?:.*? \((?=file:|\/|[A-Z]:\\))?(?:async )?(.+?):\d+:\d+\)?$/gim;

/** Parses `at name (file:///path/x.mjs:1:2)` and `at async /path/x.cjs:1:2`. */
function filesIn({ stack = '' }: Error): string[] {
  const files = stack.matchAll(frame);
  return [...files].flatMap(([, file = '']) => {
    if (!file.startsWith('file:')) return [file];
    try {
      return [fileURLToPath(file)];
    } catch {
      return [];
    }
  });
}
