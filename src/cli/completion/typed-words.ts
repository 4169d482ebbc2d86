import type { Command, Option } from 'commander';

/** What somebody has typed so far, as a command understands it. */
export interface TypedWords {
  command: Command;
  /** What comes before the word that is typed, flags and their values aside. */
  operands: string[];
  /** Flags that stand there already, and the value of each that has one. */
  flags: Map<string, string>;
  /** The flag of which the word is to be the value. */
  valueFor: Option | undefined;
  /** What there is of the word. */
  current: string;
}

/** @param words after the program's name; the last is the one that is typed */
export function typedWords(program: Command, words: string[]): TypedWords {
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

export function nameOf({ long, short }: Option): string {
  return long ?? short ?? '';
}
