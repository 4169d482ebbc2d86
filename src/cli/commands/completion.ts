import { Argument, type Command } from 'commander';
import { candidates } from '../completion/candidates.ts';
import { type Shell, scripts, shells } from '../completion/scripts.ts';
import { print } from '../output.ts';

export function addCompletion(program: Command): void {
  program
    .command('completion')
    .description('print what makes a shell complete the words of troupe')
    .addArgument(new Argument('<shell>', 'which shell').choices([...shells]))
    .addHelpText('after', installing)
    .action((shell: Shell) => print(scripts[shell]));
  program
    .command('__complete', { hidden: true })
    .argument('[words...]')
    .allowUnknownOption()
    .action((words: string[]) => print(answer(program, words)));
}

/** A word a line, and behind a tab what it stands for. Never fails. */
function answer(program: Command, words: string[]): string {
  try {
    return candidates(program, words)
      .map(({ word, about }) => (about ? `${word}\t${about}\n` : `${word}\n`))
      .join('');
  } catch {
    return '';
  }
}

const installing = `
It completes commands, flags, engines, roles, clients and the ids of agents.

Examples:
  $ troupe completion bash >> ~/.bashrc
  $ troupe completion zsh > ~/.zfunc/_troupe    # a folder in your fpath
  $ troupe completion fish > ~/.config/fish/completions/troupe.fish
`;
