import { Readable } from 'node:stream';

/**
 * Runs code of a plugin, for which stdin is empty: what a module that is a
 * program by mistake would read is what our client says to us.
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
