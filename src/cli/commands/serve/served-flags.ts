import { type ParseArgsConfig, parseArgs } from 'node:util';
import { HostError, messageOf } from '../../../core/errors.ts';
import { didYouMean } from '../../../core/nearest.ts';

/**
 * Parses the flags of a server without commander, which would slow its start.
 * @param command for messages, as the user types it
 * @throws HostError `config_invalid` for an unknown flag or an empty value: an
 *   unset shell variable would otherwise lift the limit that it stands for
 */
export function readFlags<
  const Options extends NonNullable<ParseArgsConfig['options']>
>(args: string[], options: Options, command: string) {
  const { values } = parsed(args, options, command);
  for (const [name, value] of Object.entries(values))
    if (isBlank(value) && !optionalValues.includes(name))
      throw new HostError('config_invalid', ...emptyFlag(`--${name}`));
  return values;
}

function parsed<const Options extends NonNullable<ParseArgsConfig['options']>>(
  args: string[],
  options: Options,
  command: string
) {
  type Parsed = ReturnType<typeof parseArgs<{ options: Options }>>;
  // Node loads its parser at the first use, which adds 2 ms to a start.
  if (args.length === 0) return { values: {} } as Pick<Parsed, 'values'>;
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

/** The first line of Node's message, and a hint. */
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

/** Flags that may have no value. */
const optionalValues = ['http'];

/** Also true for a list that has no entries, such as `,`. */
export function isBlank(value: unknown): boolean {
  return typeof value === 'string' && /^[\s,]*$/.test(value);
}

/** The message and the hint for a flag without a value. */
export function emptyFlag(flag: string): [message: string, hint: string] {
  return [`The value of ${flag} is empty.`, 'Give it one, or leave it out.'];
}
