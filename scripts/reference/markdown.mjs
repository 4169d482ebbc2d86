/** Markdown for the generated pages. */

export const warning =
  '<!-- Written by scripts/reference.mjs: change the sources, then run it. -->';

/** @param rows cells as markdown; undefined for an empty cell */
export function table(head, rows) {
  const line = (cells) => `| ${cells.map(cell).join(' | ')} |`;
  const rule = `|${head.map(() => '---').join('|')}|`;
  return [line(head), rule, ...rows.map(line)].join('\n');
}

export function code(text) {
  return `\`${text}\``;
}

/** Lists words as code, such as `a`, `b` and `c`. */
export function listed(words, last = 'and') {
  const marked = words.map(code);
  return marked.length < 2
    ? marked.join('')
    : `${marked.slice(0, -1).join(', ')} ${last} ${marked.at(-1)}`;
}

/** Escapes `<name>`, which markdown would read as a tag. */
export function prose(text) {
  return text.replace(/<([^>]*)>/g, '&lt;$1&gt;');
}

function cell(text = '') {
  return text.replaceAll('|', '\\|').replaceAll('\n', ' ');
}
