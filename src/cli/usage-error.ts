import { type Command, CommanderError } from 'commander';
import { HostError } from '../core/errors.ts';
import { didYouMean } from '../core/nearest.ts';
import { emptyFlag, isBlank } from './served-flags.ts';

/**
 * Has a command and those below it throw what is wrong with how they were
 * called, as any other error: the library would print it and end the process.
 */
export function throwUsageErrors(command: Command, path: string): void {
  command
    .configureOutput({ outputError: () => undefined })
    .exitOverride((error) => {
      throw isHelp(error) ? error : usageError(error, path);
    });
  for (const one of command.commands)
    throwUsageErrors(one, path === '' ? one.name() : `${path} ${one.name()}`);
}

/** Help or the version was asked for, and is printed. */
export function isHelp(error: unknown): error is CommanderError {
  return error instanceof CommanderError && error.exitCode === 0;
}

/** @throws HostError `invalid_input` when there is no such command */
export function checkCommand({ commands }: Command, name: string): void {
  const names = commands.map((command) => command.name());
  if (name === 'help' || names.includes(name)) return;
  throw new HostError(
    'invalid_input',
    `There is no command "${name}".`,
    `${didYouMean(name, names)}See: troupe help`
  );
}

/**
 * A flag whose value is empty is not the same as one that is left out; only
 * a text may be empty.
 * @throws HostError `invalid_input`
 */
export function refuseEmptyFlags(command: Command): void {
  const empty = command.options.find(
    (option) =>
      !option.flags.endsWith('<text>') &&
      isBlank(command.getOptionValue(option.attributeName()))
  );
  if (empty)
    throw new HostError(
      'invalid_input',
      ...emptyFlag(empty.long ?? empty.flags)
    );
}

function usageError({ message }: CommanderError, path: string): HostError {
  const [first = '', meant] = message
    .replace(/^error: /, '')
    .split('\n')
    .map((line) => line.trim());
  const text = `${first.charAt(0).toUpperCase()}${first.slice(1)}`;
  const suggestion =
    /^\((Did you mean .*)\)$/.exec(meant ?? '')?.[1] ?? choiceIn(first);
  return new HostError(
    'invalid_input',
    /[.?!]$/.test(text) ? text : `${text}.`,
    `${suggestion && `${suggestion.trim()} `}See: troupe help${path && ` ${path}`}`
  );
}

/** What may be meant by a word that is none of those allowed. */
function choiceIn(words: string): string {
  const found =
    /(?:value|argument) '([^']*)' is invalid\b.* Allowed choices are (.*)\.$/.exec(
      words
    );
  const [, word = '', allowed = ''] = found ?? [];
  return found ? didYouMean(word, allowed.split(', ')) : '';
}
