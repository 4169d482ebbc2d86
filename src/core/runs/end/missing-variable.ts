import type { Verdict } from './classify-outcome.ts';

/**
 * Adds how to hand a variable on to the error of a program that misses it. The
 * text is the same in every process, whatever its own variables.
 */
export function withVariableHint(verdict: Verdict, engine: string): Verdict {
  const { status, error } = verdict;
  const name = error === null ? undefined : missingVariable(error);
  if (status !== 'failed' || name === undefined) return verdict;
  return {
    ...verdict,
    error: `${error}\nThe program did not get ${name}. If it is set in your shell, pass it on: "passEnv": ["${name}"] in engines.${engine} of the configuration, and by the client that starts troupe (troupe init names it there).`
  };
}

const name = '[`\'"]?([A-Z][A-Z0-9_]*_[A-Z0-9_]+)[`\'"]?';
const patterns = [
  new RegExp(`[Ee]nvironment variables?:? ${name}`),
  new RegExp(`${name} (?:environment variable|env var)`),
  new RegExp(
    `${name} (?:is|was) (?:not set|not defined|unset|missing|required)`
  )
];

/** The variable that a text names as missing. */
export function missingVariable(text: string): string | undefined {
  return patterns
    .map((pattern) => pattern.exec(text)?.[1])
    .find((found) => found !== undefined);
}
