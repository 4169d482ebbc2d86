import type { Failure, FailureCode } from '../../plugin.ts';

/** A plugin threw, or gave back what its contract does not allow. */
export class EngineFault extends Error {
  /** How the agent's end is told. */
  readonly failure: Failure;

  constructor(
    engine: string,
    member: string,
    problem: string,
    code: FailureCode = 'spawn_failed'
  ) {
    super(`The plugin ${engine} is at fault: ${member} ${problem}.`);
    this.name = 'EngineFault';
    this.failure = { code, message: this.message };
  }
}

/** Runs something; what it throws becomes `otherwise`, if a plugin did it. */
export function unlessAtFault<T>(
  run: () => T,
  otherwise: (fault: EngineFault) => T
): T {
  try {
    return run();
  } catch (error) {
    if (error instanceof EngineFault) return otherwise(error);
    throw error;
  }
}

/** The words of whatever was thrown: code of others throws everything. */
export function wordsOf(thrown: unknown): string {
  try {
    const said: unknown = thrown instanceof Error ? thrown.message : thrown;
    const words = String(said).replace(/\s+/g, ' ').trim();
    return words.length > 500 ? `${words.slice(0, 499)}…` : words || 'nothing';
  } catch {
    return 'something without words';
  }
}
