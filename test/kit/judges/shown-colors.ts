const names: Record<string, string> = {
  1: 'bold',
  2: 'dim',
  3: 'italic',
  4: 'underlined',
  7: 'reversed',
  30: 'black',
  31: 'red',
  32: 'green',
  33: 'yellow',
  34: 'blue',
  35: 'magenta',
  36: 'cyan',
  37: 'white',
  90: 'gray'
};

/** Codes that end a style, with the styles they end. */
const ends: Record<string, string[]> = {
  22: ['bold', 'dim'],
  23: ['italic'],
  24: ['underlined'],
  27: ['reversed'],
  39: [
    'black',
    'red',
    'green',
    'yellow',
    'blue',
    'magenta',
    'cyan',
    'white',
    'gray'
  ]
};

/**
 * A screen as tmux captures it, with colours as marks that people read:
 * `‹red|failed›`. Ends of lines and of the screen that are empty are left out.
 */
export function shownColors(captured: string): string {
  const styles = new Set<string>();
  const lines = captured.split('\n').map((line) => {
    let shown = '';
    let open = '';
    const pieces = line
      .replaceAll('\u000f', '')
      .replace(/\s+((?:\u001b\[[\d;]*m)*)$/, '$1')
      .split(/\u001b\[([\d;]*)m/);
    for (const [index, piece] of pieces.entries()) {
      if (index % 2 === 1) change(styles, piece);
      else if (piece !== '') {
        const style = [...styles].sort().join(' ');
        if (style !== open) {
          if (open !== '') shown += '›';
          if (style !== '') shown += `‹${style}|`;
          open = style;
        }
        shown += piece;
      }
    }
    return open === '' ? shown.trimEnd() : `${shown}›`;
  });
  return `${lines.join('\n').trimEnd()}\n`;
}

function change(styles: Set<string>, codes: string): void {
  for (const code of codes.split(';')) {
    if (code === '' || code === '0') styles.clear();
    for (const ended of ends[code] ?? []) styles.delete(ended);
    const name = names[code];
    if (name) styles.add(name);
  }
}
