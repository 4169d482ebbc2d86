import type { Command, Option } from 'commander';
import { builtinEngines, optionalEngines } from '../../../../plugins/index.ts';
import { roleDirectoriesOf } from '../../../config/squads.ts';
import { JournalFiles } from '../../../core/audit/journal/journal-files.ts';
import { lastEnded } from '../../../core/audit/journal/recently-ended.ts';
import { pathsOf } from '../../../core/paths/paths.ts';
import { leadsOut } from '../../../core/runs/admission/containment.ts';
import { RunStore } from '../../../core/runs/run-store.ts';
import { namesIn } from '../../../core/state/files/directories.ts';
import { terminalLine } from '../../../core/text.ts';
import { workspaceOf } from '../../../host/workspace-root.ts';
import { clients } from '../../clients/clients.ts';
import { shorten } from '../../output/text.ts';

/** A candidate that makes the shell complete file names. */
const files = ':files';

/**
 * Matches a word that needs no quotes. Others are left out: bash inserts words
 * unquoted, and a project may have a role with any name.
 */
const plain = /^[\p{L}\p{M}\p{N}_@%+:,./-]+$/u;

/** Candidates that complete the word being typed. */
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
  // In a comma-separated list, only the last entry is completed.
  const isList = valueFor !== undefined && /names/.test(valueFor.flags);
  const before = isList ? current.slice(0, current.lastIndexOf(',') + 1) : '';
  const typedPart = current.slice(before.length).toLowerCase();
  return wordsFor(program, typed, workspace)
    .filter(
      ({ word }) =>
        word === files || (word.startsWith(typedPart) && plain.test(word))
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

/** The agents that a command accepts; all unless it is listed here. */
const wanted: Record<string, 'all' | 'at work' | 'ended'> = {
  cancel: 'at work',
  wait: 'at work',
  clean: 'ended',
  continue: 'ended',
  diff: 'ended',
  apply: 'ended'
};

function commandWords({ commands }: Command): Candidate[] {
  return commands
    .filter((command) => !command.name().startsWith('_'))
    .map((command) => ({
      word: command.name(),
      about: brief(command.description())
    }));
}

/** The flags that the line does not have yet. */
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
  return asWords(suggestedValues[name] ?? []);
}

/** Values of flags for which commander knows no choices. */
const suggestedValues: Record<string, string[]> = {
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

/** A word, and a description for shells that show one. */
interface Candidate {
  word: string;
  about?: string;
}

/** The limit of ended agents that are offered. */
const mostEnded = 40;
const aboutColumns = 60;

/** Only the built-in engines: to load plugins would take too long. */
function engineWords(): Candidate[] {
  return [...builtinEngines, ...optionalEngines].map(
    ({ name, description }) => ({ word: name, about: brief(description) })
  );
}

/** The ids of active agents, then of the agents that ended last. */
function agentWords(
  workspace: string,
  which: 'all' | 'at work' | 'ended'
): Candidate[] {
  const paths = pathsOf(workspace);
  const store = new RunStore(paths.record);
  const journal = new JournalFiles(paths.journal);
  const open = store.openIds().filter((id) => !store.hasOutcome(id));
  const ended = () => lastEnded(journal, store, mostEnded).reverse();
  const ids = [
    ...(which === 'ended' ? [] : open),
    ...(which === 'at work' ? [] : ended())
  ];
  return [...new Set(ids)].flatMap((word) => {
    const record = store.recordOf(word);
    if (!record) return [];
    return [{ word, about: brief(`${record.engine}: ${record.task}`) }];
  });
}

function roleWords(workspace: string): Candidate[] {
  const { builtin, own, within } = roleDirectoriesOf(workspace, undefined);
  const directories = leadsOut(within, own) ? [builtin] : [own, builtin];
  const ids = directories.flatMap((directory) =>
    namesIn(directory).flatMap((name) =>
      name.endsWith('.md') ? [name.slice(0, -'.md'.length)] : []
    )
  );
  return [...new Set(ids)].sort().map((word) => ({ word }));
}

function brief(text: string): string {
  return shorten(terminalLine(text), aboutColumns);
}

/** The words typed so far, as the command parses them. */
interface TypedWords {
  command: Command;
  /** The words before the current one, without flags and their values. */
  operands: string[];
  /** The flags before the current word, each with its value or ''. */
  flags: Map<string, string>;
  /** The flag whose value is being typed. */
  valueFor: Option | undefined;
  /** The typed part of the current word. */
  current: string;
}

/** @param words after the program's name; the last one is being typed */
function typedWords(program: Command, words: string[]): TypedWords {
  let command = program;
  let operands: string[] = [];
  let valueFor: Option | undefined;
  const flags = new Map<string, string>();
  for (const word of words.slice(0, -1)) {
    if (valueFor) {
      flags.set(nameOf(valueFor), word);
      valueFor = undefined;
      continue;
    }
    const option = command.options.find(({ short, long }) =>
      [short, long].includes(word)
    );
    if (option) flags.set(nameOf(option), '');
    if (option?.required) valueFor = option;
    if (word.startsWith('-')) continue;
    const inner = command.commands.find((one) => one.name() === word);
    if (inner && operands.length === 0) {
      command = inner;
      operands = [];
    } else operands.push(word);
  }
  return { command, operands, flags, valueFor, current: words.at(-1) ?? '' };
}

function nameOf({ long, short }: Option): string {
  return long ?? short ?? '';
}
