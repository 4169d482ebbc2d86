/** Diagnostics for people, on stderr; stdout belongs to the protocol. */
export function log(message: string): void {
  try {
    process.stderr.write(`troupe: ${message}\n`);
  } catch {
    // Nobody reads stderr any more; the work goes on.
  }
}

export function logProblem(problem: unknown): void {
  log(problem instanceof Error ? problem.message : String(problem));
}
