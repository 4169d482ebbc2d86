let nested = 0;
let restore = (): void => undefined;

/**
 * Runs code of a plugin: what it prints meanwhile goes to stderr. stdout is
 * an answer that others parse.
 */
export function withoutStdout<T>(run: () => T): T {
  divert();
  let result: T;
  try {
    result = run();
  } catch (error) {
    release();
    throw error;
  }
  if (result instanceof Promise) result.then(release, release);
  else release();
  return result;
}

function divert(): void {
  nested += 1;
  if (nested > 1) return;
  const { stdout, stderr } = process;
  const { write } = stdout;
  stdout.write = stderr.write.bind(stderr);
  restore = () => {
    stdout.write = write;
  };
}

function release(): void {
  nested -= 1;
  if (nested === 0) restore();
}
