import { visibleText } from '../../core/visible-text.ts';
import { wrappedLines } from '../live/wrapped-lines.ts';
import { colorsFor, print, printWords, tell } from '../output.ts';

/** Where `init` says what it does. */
export interface Screen {
  begin: (text: string) => void;
  tell: (text: string) => void;
  good: (text: string) => void;
  warn: (text: string) => void;
  /** What a program may want to read: in a pipe, it goes to stdout. */
  show: (heading: string, lines: string[]) => Promise<void>;
  /** A text of ours as it is. */
  quote: (heading: string, text: string) => Promise<void>;
  /** Says what takes a while, until it is done. */
  during: <T>(text: string, work: () => Promise<T>) => Promise<T>;
  end: (text: string) => void;
}

/** In a pipe: results on stdout, everything else on stderr. */
export const plainScreen: Screen = {
  begin: () => undefined,
  tell,
  good: tell,
  warn: tell,
  show: (heading, lines) =>
    printWords(`${[...(heading ? [heading] : []), ...lines].join('\n')}\n`),
  quote: (heading, text) => {
    tell(heading);
    return printWords(`${text}\n`);
  },
  during: (_, work) => work(),
  end: tell
};

/** With --json only the document is printed; what goes wrong is told. */
export const quietScreen: Screen = {
  ...plainScreen,
  tell: () => undefined,
  good: () => undefined,
  show: async () => undefined,
  quote: async () => undefined,
  end: () => undefined
};

/** The bar of clack, and the blanks behind it. */
const barColumns = 3;

type Clack = typeof import('@clack/prompts');

/** For a person in front of a terminal. */
export function personScreen(clack: Clack): Screen {
  const { log } = clack;
  return {
    begin: (text) => clack.intro(text),
    tell: (text) => log.message(framed(text)),
    good: (text) => log.success(framed(text)),
    warn: (text) => log.warn(framed(text)),
    show: async (heading, lines) =>
      log.message([heading, ...lines.map(painted)].join('\n')),
    quote: async (heading, text) => {
      log.step(heading);
      await print(`\n${visibleText(text)}\n\n`);
    },
    during,
    end: (text) => clack.outro(text)
  };
}

/** Broken at words, so that the bar at the left goes on. */
function framed(text: string): string {
  const columns = (process.stdout.columns ?? 80) - barColumns;
  return wrappedLines(visibleText(text), columns).join('\n');
}

function painted(line: string): string {
  const { green, red, dim } = colorsFor(process.stdout);
  const text = visibleText(line);
  if (text.startsWith('+ ')) return green(text);
  return text.startsWith('- ') ? red(text) : dim(text);
}

const frames = ['◒', '◐', '◓', '◑'];
const frameMs = 120;

/**
 * A line that moves. It leaves Ctrl-C to us: what was started has to be ended
 * first.
 */
async function during<T>(text: string, work: () => Promise<T>): Promise<T> {
  if (!process.stderr.isTTY) return work();
  const { magenta } = colorsFor(process.stderr);
  const began = performance.now();
  let count = 0;
  const draw = () => {
    const seconds = Math.floor((performance.now() - began) / 1000);
    const frame = magenta(frames[count % frames.length] ?? '');
    const age = seconds > 1 ? ` ${seconds} s` : '';
    process.stderr.write(`\r\u001b[2K${frame}  ${text}…${age}`);
    count += 1;
  };
  draw();
  const timer = setInterval(draw, frameMs);
  try {
    return await work();
  } finally {
    clearInterval(timer);
    process.stderr.write('\r\u001b[2K');
  }
}
