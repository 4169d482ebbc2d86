import { stat } from 'node:fs';
import { Writable } from 'node:stream';

/**
 * Delays `keepHeapSmall` until after startup, before the heap has grown. The
 * launcher keeps the compiled code before that.
 */
const heapDelayMs = 1000;

/**
 * Prepares the process of a server.
 * @returns the only stream that still writes to stdout
 */
export function setUpServer(onProblem: (problem: unknown) => void): Writable {
  const stdout = ownStdout();
  logUncaughtErrors(onProblem);
  startThreads();
  keepHeapSmall();
  return stdout;
}

/**
 * Reserves stdout for a protocol of JSON lines. Output of other code, such as
 * plugins and SDKs, goes to stderr.
 * @returns the only stream that still writes to stdout
 */
export function ownStdout(): Writable {
  const write = process.stdout.write.bind(process.stdout);
  process.stdout.write = process.stderr.write.bind(process.stderr);
  const stdout = new Writable({
    decodeStrings: false,
    write: (json, encoding, done) => void write(escaped(json), encoding, done)
  });
  // At an error the client is gone; listeners of the real stdout handle it.
  stdout.on('error', () => undefined);
  // With a slow reader, each waiting answer adds a listener for `drain`.
  return stdout.setMaxListeners(0);
}

/** Escapes U+2028 and U+2029, at which some readers end a line (Node 24+). */
function escaped(json: string): string {
  return json.replaceAll('\u2028', '\\u2028').replaceAll('\u2029', '\\u2029');
}

/** A stray promise or timer of a plugin must not end the process. */
export function logUncaughtErrors(onProblem: (problem: unknown) => void): void {
  process.on('unhandledRejection', onProblem);
  process.on('uncaughtException', onProblem);
}

/**
 * Makes Node start its threads. If the system refuses them, Node ends the
 * process, which must happen before anything depends on it.
 */
function startThreads(): void {
  stat('.', () => undefined);
}

/**
 * Makes V8 collect a small heap when it has grown by half. By default it may
 * first grow fourfold, and keeps the memory of hundreds of agents.
 */
function keepHeapSmall(): void {
  // import() would take more memory than the module.
  const keep = () =>
    process
      .getBuiltinModule('node:v8')
      .setFlagsFromString('--heap-growing-percent=50');
  setTimeout(keep, heapDelayMs).unref();
}
