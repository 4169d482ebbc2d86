/** Tables and texts of the pages that are written by a script. */

export const warning =
  '<!-- Written by scripts/reference.mjs: change the sources, then run it. -->';

/** @param rows cells as markdown; undefined is an empty one */
export function table(head, rows) {
  const line = (cells) => `| ${cells.map(cell).join(' | ')} |`;
  const rule = `|${head.map(() => '---').join('|')}|`;
  return [line(head), rule, ...rows.map(line)].join('\n');
}

export function code(text) {
  return `\`${text}\``;
}

/** Words in code marks, as a sentence lists them. */
export function listed(words, last = 'and') {
  const marked = words.map(code);
  return marked.length < 2
    ? marked.join('')
    : `${marked.slice(0, -1).join(', ')} ${last} ${marked.at(-1)}`;
}

/** Text of a program in prose: nothing in it is a tag. */
export function prose(text) {
  return text.replace(/<([^>]*)>/g, '&lt;$1&gt;');
}

function cell(text = '') {
  return text.replaceAll('|', '\\|').replaceAll('\n', ' ');
}
