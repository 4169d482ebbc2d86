import { test } from 'vitest';

type Body = () => Promise<void> | void;
type NeedingTest = (title: string, body: Body, timeoutMs?: number) => void;

/**
 * `test`, for what not every machine has. Without it a test is skipped and
 * says why; with TROUPE_CI=1 it fails, so that nothing is left out unnoticed.
 */
export function needing(what: string, isThere: boolean): NeedingTest {
  if (isThere) return test;
  if (process.env.TROUPE_CI === '1')
    return (title) => {
      test(title, () => {
        throw new Error(`This machine has no ${what}.`);
      });
    };
  return (title, body) => {
    test.skip(`${title} (needs ${what})`, body);
  };
}
