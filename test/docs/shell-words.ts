/**
 * The commands of a shell's text, each as its words: what quotes hold is one
 * word, comments, redirections and assignments in front are left out. What
 * expands stays as it is written.
 */
export function commandsIn(text: string): string[][] {
  const commands: string[][] = [];
  const lines = text.replaceAll('\\\n', ' ').split('\n');
  for (const line of lines) {
    let words: string[] = [];
    const end = () => {
      const own = withoutRedirections(words);
      if (own.length > 0) commands.push(own);
      words = [];
    };
    for (const [token = ''] of line.matchAll(tokens)) {
      if (token.startsWith('#')) break;
      if (/^\s+$/.test(token)) continue;
      if (/^(&&|\|\|?|;|&)$/.test(token)) end();
      else words.push(token);
    }
    end();
  }
  return commands;
}

/** `$(…)`, quoted parts and placeholders such as `<id>` belong to a word. */
const tokens =
  /\s+|&&|\|\|?|;|&|#(?<=(?:^|\s)#).*|(?:"(?:\\.|[^"\\])*"|'[^']*'|\$\([^)]*\)|<[a-z_]+>|\\.|[^\s"'&|;$\\]|\$)+/g;

function withoutRedirections(words: string[]): string[] {
  const kept: string[] = [];
  for (let index = 0; index < words.length; index += 1) {
    const word = words[index] ?? '';
    if (/^\d?[<>]{1,2}$/.test(word)) index += 1;
    else if (/^\d?[<>]{1,2}[^a-z]/.test(word)) continue;
    else if (kept.length > 0 || !/^[A-Za-z_]\w*=/.test(word))
      kept.push(unquoted(word));
  }
  return kept[0] === 'export' ? [] : kept;
}

function unquoted(word: string): string {
  return word.replace(
    /"((?:\\.|[^"\\])*)"|'([^']*)'|\\(.)/g,
    (_, double?: string, single?: string, escaped?: string) =>
      double?.replace(/\\(.)/g, '$1') ?? single ?? escaped ?? ''
  );
}
