/** Diagnostics for people, on stderr; stdout belongs to the protocol. */
export function log(message: string): void {
  try {
    process.stderr.write(`troupe: ${message}\n`);
  } catch {
    // Nobody reads stderr any more; the work goes on.
  }
}
