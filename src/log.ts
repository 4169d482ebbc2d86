import { messageOf } from './core/errors.ts';

/** Diagnostics for people, on stderr; stdout belongs to the protocol. */
export function log(message: string): void {
  try {
    process.stderr.write(`troupe: ${message}\n`);
  } catch {
    // Nobody reads stderr any more; the work goes on.
  }
}

/** A problem that nobody waits for. A bug comes with the way it went. */
export function logProblem(problem: unknown): void {
  const isBug = problem instanceof TypeError;
  log((isBug ? problem.stack : undefined) ?? messageOf(problem));
}
