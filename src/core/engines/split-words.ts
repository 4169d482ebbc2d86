/**
 * A piece of a word, as a POSIX shell quotes: an escaped character, text in
 * single quotes, text in double quotes, or plain text. What stands between
 * two NULs is a mark for a value and counts as one character.
 */
const piece =
  /\\(\0\d+\0|[\s\S])|'([^']*)'|"((?:\\[\s\S]|[^"\\])*)"|([^ \t\r\n'"\\]+)/y;

/** In plain text they would mean more than themselves to a shell. */
const operator = /\$\(|&&|\|\||[;|&<>`]/;

/**
 * Splits a command into words: quotes and backslashes mean what they mean to
 * a shell, a backslash at the end of a line joins it with the next, and what
 * begins with "#" is a comment to the end of its line. Nothing is expanded. A word that is empty and was not quoted is left out.
 *
 * @param fill what stands in a piece of a word, with values in place
 * @throws Error for shell syntax that is more than words, or an open quote
 */
export function splitWords(
  command: string,
  fill: (text: string) => string = (text) => text
): string[] {
  const words: string[] = [];
  let word: string | undefined;
  let isQuoted = false;
  const end = () => {
    if (word !== undefined && (word !== '' || isQuoted)) words.push(word);
    word = undefined;
    isQuoted = false;
  };
  for (piece.lastIndex = 0; piece.lastIndex < command.length; ) {
    const from = piece.lastIndex;
    if (word === undefined && command[from] === '#') {
      piece.lastIndex =
        from + (/^.*/.exec(command.slice(from))?.[0].length ?? 1);
      continue;
    }
    const found = piece.exec(command);
    if (!found) {
      const [blank] = /^[ \t\r\n]+/.exec(command.slice(from)) ?? [];
      if (blank === undefined)
        throw new Error(
          `it has an open quote or a last backslash: ${near(command, from)}`
        );
      end();
      piece.lastIndex = from + blank.length;
      continue;
    }
    const [, escaped, single, double, plain] = found;
    if (escaped === '\n') continue;
    const [sign] = operator.exec(plain ?? '') ?? [];
    if (sign !== undefined)
      throw new Error(
        `it has "${sign}" outside quotes, which only a shell could follow: ${near(command, from)}`
      );
    isQuoted ||= single !== undefined || double !== undefined;
    const text = escaped ?? single ?? unescaped(double) ?? plain ?? '';
    word = (word ?? '') + fill(text);
  }
  end();
  return words;
}

/** In double quotes a backslash counts before a few characters only. */
function unescaped(text: string | undefined): string | undefined {
  return text?.replace(/\\(?:([$`"\\])|\n)/g, '$1');
}

function near(command: string, index: number): string {
  const [line = ''] = command.slice(index).split('\n');
  return line.slice(0, 60);
}
