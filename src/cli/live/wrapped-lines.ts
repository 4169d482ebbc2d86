import { widthOf } from '../text.ts';

const printable = /^[\u0020-\u007e]*$/;
const tabWidth = 4;

/** A text as lines of at most so many columns; words stay whole if they can. */
export function wrappedLines(text: string, columns: number): string[] {
  return text
    .replaceAll('\t', ' '.repeat(tabWidth))
    .split('\n')
    .flatMap((line) => wrapped(line, Math.max(1, columns)));
}

function wrapped(line: string, columns: number): string[] {
  if (printable.test(line) && line.length <= columns) return [line];
  const lines: string[] = [];
  let rest = line;
  while (rest !== '') {
    const end = endOf(rest, columns);
    lines.push(rest.slice(0, end).trimEnd());
    rest = rest.slice(end);
    if (rest !== '') rest = rest.replace(/^ /, '');
  }
  return lines.length > 0 ? lines : [''];
}

/** Where the first of its lines ends: behind a blank, or amid a long word. */
function endOf(text: string, columns: number): number {
  let width = 0;
  let end = 0;
  let blank = 0;
  for (const character of text) {
    width += widthOf(character);
    if (width > columns && end > 0)
      return character === ' ' || blank === 0 ? end : blank;
    end += character.length;
    if (character === ' ') blank = end;
  }
  return end;
}
