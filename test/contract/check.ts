import type { Engine, FailureCode } from '../../src/plugin/plugin.ts';

/** One thing an engine must do, as a test of any framework. */
export interface Check {
  /** A sentence about the engine. */
  title: string;
  run: () => void | Promise<void>;
}

/** What the host must make of a recording. Only what is given is compared. */
export interface Expected {
  status?: 'completed' | 'failed' | 'timeout' | 'canceled' | 'interrupted';
  text?: string;
  error_code?: FailureCode;
  sessionId?: string;
}

/** What a program put out once. */
export interface CliFixture {
  case: string;
  stdout: string;
  stderr?: string;
  /** Default 0; null when a signal ended it. */
  exitCode?: number | null;
  expected?: Expected;
}

/** What a provider answered once. */
export interface ApiFixture {
  case: string;
  response: { status?: number; contentType?: string; body: string };
  /** False for an answer to a request that did not ask to stream. */
  stream?: boolean;
  expected?: Expected;
}

export type Fixture = CliFixture | ApiFixture;

/** In no program's own words by chance. */
export function marked(what: string): string {
  return `${what}7q3zx9`;
}

/** Deeply frozen: a change throws. */
export function frozen<T>(value: T): T {
  if (typeof value !== 'object' || value === null || Object.isFrozen(value))
    return value;
  for (const inner of Object.values(value)) frozen(inner);
  return Object.freeze(value);
}

/** Data as text, with functions by their name alone. */
export function dataOf(engine: Engine): string {
  return JSON.stringify(engine, (_, value: unknown) =>
    typeof value === 'function' ? 'a function' : value
  );
}
