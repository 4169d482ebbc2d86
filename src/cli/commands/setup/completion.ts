import { Argument, type Command } from 'commander';
import { print } from '../../output/output.ts';
import { candidates } from './completion-candidates.ts';

export function addCompletion(program: Command): void {
  program
    .command('completion')
    .description('print the completion script for a shell')
    .addArgument(new Argument('<shell>', 'which shell').choices([...shells]))
    .addHelpText('after', installing)
    .action((shell: Shell) => print(scripts[shell]));
  program
    .command('__complete', { hidden: true })
    .argument('[words...]')
    .allowUnknownOption()
    .action((words: string[]) => print(answer(program, words)));
}

/** One word per line, followed by a tab and its description. Never throws. */
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

const shells = ['bash', 'zsh', 'fish'] as const;
type Shell = (typeof shells)[number];

/**
 * The completion script of each shell. It calls `troupe __complete`, so that
 * it stays valid when commands are added.
 */
const scripts: Record<Shell, string> = {
  bash: `# bash completion for troupe. It works with bash 3.2, too.
_troupe() {
  local value about file form='%s'
  COMPREPLY=()
  while IFS=$'\\t' read -r value about; do
    if [ "$value" = ':files' ]; then
      compopt -o filenames 2>/dev/null || form='%q'
      while IFS= read -r file; do
        printf -v file "$form" "$file"
        COMPREPLY+=("$file")
      done < <(compgen -f -- "\${COMP_WORDS[COMP_CWORD]}")
    else
      COMPREPLY+=("$value")
    fi
  done < <("\${COMP_WORDS[0]}" __complete -- "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
}
complete -F _troupe troupe
`,
  zsh: `#compdef troupe
_troupe() {
  local -a found
  local value about
  while IFS=$'\\t' read -r value about; do
    if [[ $value == :files ]]; then
      _files
      return
    fi
    found+=("\${value//:/\\\\:}\${about:+:$about}")
  done < <("\${words[1]}" __complete -- "\${(@)words[2,CURRENT]}" 2>/dev/null)
  _describe -V -t troupe troupe found
}
if [[ \${funcstack[1]} == _troupe ]]; then
  _troupe "$@"
else
  compdef _troupe troupe
fi
`,
  fish: `# fish completion for troupe
function __troupe_complete
  set -l words (commandline -opc)
  set -l current (commandline -ct)
  set -l found ($words[1] __complete -- $words[2..-1] "$current" 2>/dev/null)
  if test "$found" = ':files'
    __fish_complete_path "$current"
  else if set -q found[1]
    printf '%s\\n' $found
  end
end
complete -c troupe -f -k -a '(__troupe_complete)'
`
};
