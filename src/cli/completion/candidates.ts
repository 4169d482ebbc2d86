import type { Command, Option } from 'commander';
import { workspaceOf } from '../../workspace-root.ts';
import { clients } from '../clients.ts';
import {
  agentWords,
  brief,
  type Candidate,
  engineWords,
  roleWords
} from './known-words.ts';
import { nameOf, type TypedWords, typedWords } from './typed-words.ts';

/** The shell is to complete the names of files. */
const files = ':files';

/**
 * Bash puts a word into the line as it is, and a project may bring along a
 * role with any name: one that a shell reads as more than a word is not told.
 */
const plain = /^[\p{L}\p{M}\p{N}_@%+:,./-]+$/u;

/** What may follow, of which the word that is typed is the beginning. */
export function candidates(
  program: Command,
  words: string[],
  environment: Record<string, string | undefined> = process.env
): Candidate[] {
  const typed = typedWords(program, words);
  const { current, valueFor } = typed;
  const workspace = workspaceOf(
    { workspace: typed.flags.get('--workspace') },
    environment
  );
  // Of a list, the last word is typed.
  const isList = valueFor !== undefined && /names/.test(valueFor.flags);
  const before = isList ? current.slice(0, current.lastIndexOf(',') + 1) : '';
  const begun = current.slice(before.length).toLowerCase();
  return wordsFor(program, typed, workspace)
    .filter(
      ({ word }) =>
        word === files || (word.startsWith(begun) && plain.test(word))
    )
    .map((one) => ({ ...one, word: `${before}${one.word}` }));
}

function wordsFor(
  program: Command,
  typed: TypedWords,
  workspace: string
): Candidate[] {
  const { command, operands, valueFor, current } = typed;
  if (valueFor) return valuesOf(valueFor);
  if (current.startsWith('-')) return flagsOf(typed);
  if (operands.length === 0 && command.commands.length > 0)
    return commandWords(command);
  if (operands[0] === 'help') return commandWords(program);
  const { registeredArguments: all } = command;
  const last = all.at(-1);
  const argument = all[operands.length] ?? (last?.variadic ? last : undefined);
  if (argument?.argChoices) return asWords(argument.argChoices);
  switch (argument?.name()) {
    case 'engine':
      return engineWords();
    case 'client':
      return clients.map(({ name, label }) => ({ word: name, about: label }));
    case 'id':
      return command.name() === 'roles'
        ? roleWords(workspace)
        : agentWords(workspace, wanted[command.name()] ?? 'all').filter(
            ({ word }) => !operands.includes(word)
          );
    default:
      return [];
  }
}

/** Which agents a command can do something about. */
const wanted: Record<string, 'all' | 'at work' | 'ended'> = {
  cancel: 'at work',
  wait: 'at work',
  clean: 'ended'
};

function commandWords({ commands }: Command): Candidate[] {
  return commands
    .filter((command) => !command.name().startsWith('_'))
    .map((command) => ({
      word: command.name(),
      about: brief(command.description())
    }));
}

/** Those that are not there yet. */
function flagsOf({ command, flags }: TypedWords): Candidate[] {
  return command
    .createHelp()
    .visibleOptions(command)
    .filter((option) => option.long && !flags.has(nameOf(option)))
    .map((option) => ({
      word: nameOf(option),
      about: brief(option.description)
    }));
}

function valuesOf(option: Option): Candidate[] {
  if (option.argChoices) return asWords(option.argChoices);
  const name = nameOf(option);
  if (/^--engines?$/.test(name)) return engineWords();
  if (/<(dir|file|program)>/.test(option.flags)) return [{ word: files }];
  return asWords(closed[name] ?? []);
}

/** Values that a server checks by itself. */
const closed: Record<string, string[]> = {
  '--max-access': ['read', 'write', 'full'],
  '--on-disconnect': ['keep', 'stop'],
  '--state-mode': ['stateless', 'stateful'],
  '--execution-mode': ['parallel', 'sequential'],
  '--format': ['markdown', 'json'],
  '--toolsets': ['spawn', 'runs', 'squad', 'council', 'orchestrator', 'all'],
  '--older-than': ['1d', '7d', '30d'],
  '--max-size': ['500MB', '2GB']
};

function asWords(words: readonly string[]): Candidate[] {
  return words.map((word) => ({ word }));
}
