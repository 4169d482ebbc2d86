import { Writable } from 'node:stream';

/**
 * Takes stdout for a protocol of JSON lines: what anybody else prints, plugins
 * and SDKs among them, goes to stderr from now on.
 * @returns the only way left to write to stdout
 */
export function ownStdout(): Writable {
  const write = process.stdout.write.bind(process.stdout);
  process.stdout.write = process.stderr.write.bind(process.stderr);
  const stdout = new Writable({
    decodeStrings: false,
    write: (json, encoding, done) => void write(escaped(json), encoding, done)
  });
  // A client that is gone: whoever listens to the real stdout knows as well.
  stdout.on('error', () => undefined);
  // With a slow reader every answer that waits listens for its turn.
  return stdout.setMaxListeners(0);
}

/** Some readers end a line at these, Node's own `readline` since 24 for one. */
function escaped(json: string): string {
  return json.replaceAll('\u2028', '\\u2028').replaceAll('\u2029', '\\u2029');
}

/** A promise or timer that a plugin left alone must not end the process. */
export function surviveStrays(tell: (problem: unknown) => void): void {
  process.on('unhandledRejection', tell);
  process.on('uncaughtException', tell);
}
