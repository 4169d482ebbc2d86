export const shells = ['bash', 'zsh', 'fish'] as const;
export type Shell = (typeof shells)[number];

/**
 * What a shell runs to complete the words of `troupe`: it asks `troupe` itself,
 * so that it need not be made anew when there are new commands.
 */
export const scripts: Record<Shell, string> = {
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
