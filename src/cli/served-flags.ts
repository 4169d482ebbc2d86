import { type ParseArgsConfig, parseArgs } from 'node:util';
import { HostError } from '../core/errors.ts';

/**
 * The flags of a server, which parses them without the command line's
 * library: its start-up counts.
 * @throws HostError `config_invalid` when a flag has an empty value. A
 *   variable that was never set would else lift the limit it stands for.
 */
export function readFlags<
  const Options extends NonNullable<ParseArgsConfig['options']>
>(args: string[], options: Options) {
  const { values } = parseArgs({ args, options, strict: true });
  for (const [name, value] of Object.entries(values))
    if (isBlank(value) && !mayStandAlone.includes(name))
      throw new HostError('config_invalid', ...emptyFlag(`--${name}`));
  return values;
}

/** What has a default when it is given alone. */
const mayStandAlone = ['http'];

/** Names nothing, not even in a list. */
export function isBlank(value: unknown): boolean {
  return typeof value === 'string' && /^[\s,]*$/.test(value);
}

/** What is wrong with a flag without a value, and what to do. */
export function emptyFlag(flag: string): [message: string, hint: string] {
  return [`The value of ${flag} is empty.`, 'Give it one, or leave it out.'];
}
