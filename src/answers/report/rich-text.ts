import { type Html, html } from '../html.ts';

/**
 * The little markdown that makes an answer readable: fences, headings, code and
 * bold words. Everything else is shown as it was written, line by line.
 */
export function richText(text: string): Html[] {
  const blocks: Html[] = [];
  let plain: string[] = [];
  let fence: { mark: string; lines: string[] } | undefined;
  const endPlain = () => {
    const lines = trimmed(plain);
    if (lines.length > 0)
      blocks.push(html`<div class="words">${linesOf(lines)}</div>`);
    plain = [];
  };
  for (const line of text.split('\n')) {
    const mark = /^ {0,3}(`{3,}|~{3,})/.exec(line)?.[1];
    if (fence) {
      if (mark?.startsWith(fence.mark) && line.trim() === mark) {
        blocks.push(html`<pre>${fence.lines.join('\n')}</pre>`);
        fence = undefined;
      } else fence.lines.push(line);
    } else if (mark) {
      endPlain();
      fence = { mark, lines: [] };
    } else plain.push(line);
  }
  endPlain();
  if (fence) blocks.push(html`<pre>${fence.lines.join('\n')}</pre>`);
  return blocks;
}

/** A blank line after a heading is left out: the heading is a block. */
function linesOf(lines: string[]): Html[] {
  return lines.flatMap((line, index) => {
    const heading = headingIn(line);
    const isAfter = headingIn(lines[index - 1] ?? '') !== undefined;
    if (line.trim() === '' && isAfter) return [];
    const end = index < lines.length - 1 && '\n';
    // Not a heading of the page, whose outline is its own.
    return [
      heading === undefined
        ? html`${inline(line)}${end}`
        : html`<strong class="head">${inline(heading)}</strong>`
    ];
  });
}

function headingIn(line: string): string | undefined {
  return /^#{1,6} +(.+?) *#*$/.exec(line)?.[1];
}

/** Code in backticks, and bold words. */
function inline(line: string): Html[] {
  return line.split(/(`[^`\n]+`|\*\*[^*\n]+\*\*)/).map((part, index) => {
    if (index % 2 === 0) return html`${part}`;
    return part.startsWith('`')
      ? html`<code>${part.slice(1, -1)}</code>`
      : html`<b>${part.slice(2, -2)}</b>`;
  });
}

/** Without blank lines at its beginning and end. */
function trimmed(lines: string[]): string[] {
  const isFilled = (line: string) => line.trim() !== '';
  const first = lines.findIndex(isFilled);
  return first < 0 ? [] : lines.slice(first, lines.findLastIndex(isFilled) + 1);
}
