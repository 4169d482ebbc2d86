import { Writable } from 'node:stream';

/**
 * Takes stdout for a protocol: what anybody else prints, plugins and SDKs
 * among them, goes to stderr from now on.
 * @returns the only way left to write to stdout
 */
export function ownStdout(): Writable {
  const write = process.stdout.write.bind(process.stdout);
  process.stdout.write = process.stderr.write.bind(process.stderr);
  const stdout = new Writable({
    decodeStrings: false,
    write: (chunk, encoding, done) => void write(chunk, encoding, done)
  });
  // With a slow reader every answer that waits listens for its turn.
  return stdout.setMaxListeners(0);
}

/** A promise or timer that a plugin left alone must not end the process. */
export function surviveStrays(tell: (problem: unknown) => void): void {
  process.on('unhandledRejection', tell);
  process.on('uncaughtException', tell);
}
