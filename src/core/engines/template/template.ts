import { errnoOf, HostError, messageOf } from '../../errors.ts';
import { readRegular } from '../../state/files/regular-file.ts';

/** Values that a template may use. Undefined renders as an empty string. */
export type Values = Record<string, string | boolean | undefined>;

interface Rendered {
  command: string;
  args: string[];
  /** Names of the values that the template used. */
  used: ReadonlySet<string>;
}

/** A command with `<% %>` tags, compiled once. */
export interface Template {
  path: string;
  /**
   * @param program prepended, unless the template begins with it
   * @throws HostError `template_invalid` with the file's name
   */
  render: (values: Values, program?: string) => Rendered;
}

/** The longest argument that Linux accepts, in bytes. */
const longestArgument = 131_071;

/**
 * Reads a template. The command is split into words before values are
 * inserted, so a value of `<%= %>` never leaves its argument and never changes.
 * The template itself is code and runs with the rights of the host.
 * @throws HostError `template_invalid` with the file's name
 */
export async function readTemplate(path: string): Promise<Template> {
  const text = readText(path);
  const { Eta } = await import('eta');
  const inserted: string[] = [];
  const eta = new Eta({
    useWith: true,
    autoEscape: true,
    autoTrim: false,
    // Renames Eta's function that inserts text unescaped.
    outputFunctionName: '__unguarded',
    // A placeholder for the value; `readText` rejects NUL in a template.
    escapeFunction: (value) => `\0${inserted.push(textOf(value)) - 1}\0`
  });
  const fillPlaceholders = (part: string) =>
    part.replace(/\0(\d+)\0/g, (_, index) => inserted[Number(index)] ?? '');
  const compiled = attempt(path, () => eta.compile(text));
  return {
    path,
    render: (values, program) =>
      attempt(path, () => {
        inserted.length = 0;
        const { scope, used } = watched(values);
        const words = splitWords(eta.render(compiled, scope), fillPlaceholders);
        const isComplete = program === undefined || words[0] === program;
        const [command, ...args] = isComplete ? words : [program, ...words];
        if (!command) throw new Error('it names no program to run');
        if (/^[A-Za-z_]\w*=/.test(command))
          throw new Error(
            `it begins with "${command.slice(0, 40)}", which only a shell reads as a variable; use templateVariables or engines.<name>.env`
          );
        checkArguments([command, ...args]);
        return { command, args, used };
      })
  };
}

function readText(path: string): string {
  const text = read(path)
    .replace(/^\uFEFF/, '')
    // Keeps the line breaks of comments, for the line numbers in errors.
    .replace(/<%#[\s\S]*?%>/g, (comment) => comment.replace(/[^\n]+/g, ''))
    .replaceAll('\r\n', '\n');
  const problem = text.includes('\0')
    ? 'it holds a NUL character'
    : /<%[-_]?\s*~/.test(text)
      ? 'it has "<%~", which would insert a value unprotected; write "<%="'
      : text.includes('<%-')
        ? 'it has "<%-", which is not supported; write "<%=", which inserts a value unchanged'
        : undefined;
  if (problem) throw invalid(path, problem);
  return text;
}

function read(path: string): string {
  try {
    return readRegular(path).toString('utf8');
  } catch (error) {
    const why = errnoOf(error) ?? messageOf(error);
    throw invalid(path, `it cannot be read (${why})`);
  }
}

function checkArguments(argv: string[]): void {
  if (argv.some((word) => word.includes('\0')))
    throw new Error('it gives an argument with a NUL character');
  const isTooLong = (word: string) =>
    process.platform === 'linux' && Buffer.byteLength(word) > longestArgument;
  if (argv.some(isTooLong))
    throw new Error(
      `it gives an argument of more than ${longestArgument} bytes, which Linux does not take; without "prompt" and "task" in the template the prompt goes to stdin`
    );
}

/** The values as a scope that records the names that a template uses. */
function watched(values: Values): { scope: object; used: Set<string> } {
  const used = new Set<string>();
  const properties = Object.entries(values).map(([name, value]) => {
    const get = () => {
      used.add(name);
      return value;
    };
    return [name, { enumerable: true, get }];
  });
  // No prototype: its members must not resolve as values.
  const scope = Object.create(null, Object.fromEntries(properties));
  return { scope, used };
}

function textOf(value: unknown): string {
  if (value === undefined || value === null) return '';
  if (typeof value === 'object' || typeof value === 'function')
    throw new Error('it inserts a value that is not text');
  return String(value);
}

function attempt<T>(path: string, work: () => T): T {
  try {
    return work();
  } catch (error) {
    throw invalid(path, problemOf(error));
  }
}

/** Eta puts the cause of a syntax error on the second line. */
function problemOf(error: unknown): string {
  const lines = messageOf(error).split('\n').filter(Boolean);
  const [first = '', second = ''] = lines;
  const problem = first === 'Bad template syntax' ? second : first;
  return error instanceof Error && error.name === 'Error'
    ? problem
    : `it has an error: ${problem.replace(/:$/, '')}`;
}

function invalid(path: string, problem: string): HostError {
  return new HostError(
    'template_invalid',
    `The template ${path} cannot be used: ${problem}.`,
    'The user has to correct that file; a change counts at the next call. docs/guides/templates.md shows what a template may hold.'
  );
}

/**
 * Part of a word with the quoting of a POSIX shell: an escaped character, text
 * in single quotes, text in double quotes, or plain text. A placeholder, which
 * is a number between two NULs, counts as one character.
 */
const piece =
  /\\(\0\d+\0|[\s\S])|'([^']*)'|"((?:\\[\s\S]|[^"\\])*)"|([^ \t\r\n'"\\]+)/y;

/** Unquoted shell operators, which are rejected. */
const operator = /\$\(|&&|\|\||[;|&<>`]/;

/**
 * Splits a command into words. Quotes and backslashes work as in a shell, a
 * backslash at the end of a line continues the line, and "#" at the start of a
 * word begins a comment. Nothing is expanded. Unquoted empty words are dropped.
 * @param fill replaces the placeholders in part of a word
 * @throws Error for shell operators, an open quote or a trailing backslash
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
          `it has an open quote or a last backslash: ${excerpt(command, from)}`
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
        `it has "${sign}" outside quotes, which only a shell could follow: ${excerpt(command, from)}`
      );
    isQuoted ||= single !== undefined || double !== undefined;
    const text = escaped ?? single ?? unescaped(double) ?? plain ?? '';
    word = (word ?? '') + fill(text);
  }
  end();
  return words;
}

/** In double quotes a backslash escapes only $, `, ", \ and a newline. */
function unescaped(text: string | undefined): string | undefined {
  return text?.replace(/\\(?:([$`"\\])|\n)/g, '$1');
}

function excerpt(command: string, index: number): string {
  const [line = ''] = command.slice(index).split('\n');
  return line.slice(0, 60);
}
