import { HostError } from '../core/errors.ts';
import { visibleJson } from '../core/visible-text.ts';
import { hasPrinted, print, tell } from './output.ts';
import { describeError } from './shared.ts';

/**
 * Tells what went wrong on stderr, for people; and on stdout as one line of
 * JSON to a program that asked for JSON and has got nothing yet.
 */
export async function tellError(error: unknown, args: string[]): Promise<void> {
  const end = args.indexOf('--');
  const flags = end < 0 ? args : args.slice(0, end);
  if (flags.includes('--json') && !hasPrinted())
    await print(`${visibleJson(errorDocument(error))}\n`);
  tell(describeError(error));
}

function errorDocument(error: unknown) {
  const { code, message, hint } =
    error instanceof HostError
      ? error
      : { code: 'internal', message: describeError(error), hint: reportIt };
  return { error: { code, message, hint } };
}

const reportIt =
  'Set TROUPE_DEBUG=1 to see where it comes from, and report it.';
