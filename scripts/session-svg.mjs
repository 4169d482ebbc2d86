/**
 * Renders terminal screens as one animated SVG: each screen is to the right of
 * the previous one, and a window jumps from one to the next. The SVG follows
 * the reader's choice of dark or light; with reduced motion, it shows only the
 * last screen.
 */
const cell = { width: 8.4, height: 18 };
const margin = 14;
/** How long the last screen stays before the loop restarts, in seconds. */
const lastSeconds = 6;

const style = `
svg{--back:#fff;--text:#1f2328;--dim:#59636e;--red:#cf222e;--green:#1a7f37;--yellow:#7d4e00;--blue:#0550ae;--magenta:#8250df;--cyan:#0a6c74;--edge:#d1d9e0}
@media (prefers-color-scheme:dark){svg{--back:#0d1117;--text:#e6edf3;--dim:#9198a1;--red:#ff7b72;--green:#3fb950;--yellow:#d29922;--blue:#79c0ff;--magenta:#d2a8ff;--cyan:#56d4dd;--edge:#3d444d}}
.back{fill:var(--back);stroke:var(--edge)}
text{fill:var(--text);font:14px ui-monospace,SFMono-Regular,Menlo,Consolas,"DejaVu Sans Mono",monospace;white-space:pre}
.b{font-weight:bold}.d{fill:var(--dim)}.c1{fill:var(--red)}.c2{fill:var(--green)}.c3{fill:var(--yellow)}.c4{fill:var(--blue)}.c5{fill:var(--magenta)}.c6{fill:var(--cyan)}
`;

export function svgOf(screens, { columns, rows }, title) {
  const inner = { width: columns * cell.width, height: rows * cell.height };
  const width = Math.ceil(inner.width + 2 * margin);
  const height = Math.ceil(inner.height + 2 * margin);
  const lines = new Map();
  const shown = screens.map(({ text }, index) => {
    const uses = text
      .split('\n')
      .map((line, row) => ({ line, row }))
      .filter(({ line }) => plain(line).trim() !== '')
      .map(({ line, row }) => {
        if (!lines.has(line)) lines.set(line, `l${lines.size}`);
        return `<use href="#${lines.get(line)}" y="${row * cell.height}"/>`;
      });
    return `<g transform="translate(${index * width})">${uses.join('')}</g>`;
  });
  const defined = [...lines].map(
    ([line, id]) => `<g id="${id}">${lineOf(line)}</g>`
  );
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img" aria-labelledby="t">
<title id="t">Recording of a terminal: ${title}</title>
<style>${style}${motion(screens, width)}</style>
<defs>${defined.join('\n')}</defs>
<rect class="back" x=".5" y=".5" width="${width - 1}" height="${height - 1}" rx="8"/>
<svg aria-hidden="true" x="${margin}" y="${margin}" width="${inner.width}" height="${inner.height}"><g class="film">
${shown.join('\n')}
</g></svg>
</svg>
`;
}

/** The animation, which jumps to each screen at its time. */
function motion(screens, width) {
  const start = screens[0].at;
  const total = screens.at(-1).at - start + lastSeconds;
  const frames = screens.map(({ at }, index) => {
    const percent = (((at - start) / total) * 100).toFixed(2);
    return `${percent}%{transform:translateX(${-index * width}px)}`;
  });
  const last = `transform:translateX(${-(screens.length - 1) * width}px)`;
  return `.film{animation:film ${total.toFixed(2)}s step-end infinite}
@keyframes film{${frames.join('')}100%{${last}}}
@media (prefers-reduced-motion:reduce){.film{animation:none;${last}}}
`;
}

/** Renders a line as one text element for each style, at its column. */
function lineOf(line) {
  let column = 0;
  return pieces(line)
    .map(({ text, look }) => {
      const at = column;
      column += widthOf(text);
      if (text.trim() === '') return '';
      const length = Number((widthOf(text) * cell.width).toFixed(1));
      const x = Number((at * cell.width).toFixed(1));
      const name = look ? ` class="${look}"` : '';
      return `<text x="${x}" y="14" textLength="${length}" lengthAdjust="spacingAndGlyphs"${name}>${escaped(text)}</text>`;
    })
    .join('');
}

const wide = /(\p{Emoji_Presentation}+)/u;

/** Splits a line at changes of style, and around wide characters. */
function pieces(line) {
  const found = [];
  const state = { bold: false, dim: false, colour: '' };
  for (const part of line.split(/(\u001b\[[0-9;]*m)/)) {
    const codes = /^\u001b\[([0-9;]*)m$/.exec(part)?.[1];
    if (codes !== undefined) {
      for (const code of codes.split(';')) turn(state, Number(code));
      continue;
    }
    for (const text of part.split(wide))
      if (text) found.push({ text, look: lookOf(state) });
  }
  return found;
}

function turn(state, code) {
  if (code === 0) Object.assign(state, { bold: false, dim: false, colour: '' });
  else if (code === 1) state.bold = true;
  else if (code === 2) state.dim = true;
  else if (code === 22) Object.assign(state, { bold: false, dim: false });
  else if (code >= 31 && code <= 36) state.colour = `c${code - 30}`;
  else if (code === 39) state.colour = '';
  else if (code === 90) state.dim = true;
  else if (code === 49) return;
  else throw new Error(`No look is known for the code ${code}.`);
}

function lookOf({ bold, dim, colour }) {
  return [bold && 'b', dim && 'd', colour].filter(Boolean).join(' ');
}

function plain(line) {
  return line.replace(/\u001b\[[0-9;]*m/g, '');
}

function widthOf(text) {
  const characters = [...text];
  return wide.test(text) ? characters.length * 2 : characters.length;
}

function escaped(text) {
  return text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;');
}
