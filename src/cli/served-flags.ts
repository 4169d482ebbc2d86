import { type ParseArgsConfig, parseArgs } from 'node:util';
import { HostError, messageOf } from '../core/errors.ts';
import { didYouMean } from '../core/nearest.ts';

/**
 * The flags of a server, which parses them without the command line's
 * library: its start-up counts.
 * @param command as a person calls it
 * @throws HostError `config_invalid` when a flag is not known, or has an
 *   empty value. A variable that was never set would else lift the limit it
 *   stands for.
 */
export function readFlags<
  const Options extends NonNullable<ParseArgsConfig['options']>
>(args: string[], options: Options, command: string) {
  const { values } = parsed(args, options, command);
  for (const [name, value] of Object.entries(values))
    if (isBlank(value) && !mayStandAlone.includes(name))
      throw new HostError('config_invalid', ...emptyFlag(`--${name}`));
  return values;
}

function parsed<const Options extends NonNullable<ParseArgsConfig['options']>>(
  args: string[],
  options: Options,
  command: string
) {
  try {
    return parseArgs({ args, options, strict: true });
  } catch (error) {
    const help = `See: ${command} --help`;
    throw new HostError(
      'config_invalid',
      ...faultIn(messageOf(error), Object.keys(options), help)
    );
  }
}

/** Node's words on one line, and what may have been meant. */
function faultIn(
  words: string,
  names: string[],
  help: string
): [message: string, hint: string] {
  const [first = ''] = words.split('\n');
  const [, flag = ''] = /'(--?[^' ]+)/.exec(first) ?? [];
  if (first.endsWith('is ambiguous.'))
    return [
      `The value of ${flag} is missing, or begins with a dash.`,
      flag.startsWith('--')
        ? `If it has to begin with one, write ${flag}=VALUE. ${help}`
        : help
    ];
  const known = names.map((name) => `--${name}`);
  const meant = first.startsWith('Unknown') ? didYouMean(flag, known) : '';
  return [/[.?!]$/.test(first) ? first : `${first}.`, `${meant}${help}`];
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
