import { errnoOf, HostError, messageOf } from '../errors.ts';
import { readRegular } from '../state/regular-file.ts';
import { splitWords } from './split-words.ts';

/** What a template may name. Absent values read as nothing. */
export type Values = Record<string, string | boolean | undefined>;

export interface Rendered {
  command: string;
  args: string[];
  /** Names of the values it asked for. */
  used: ReadonlySet<string>;
}

/** A command with `<% %>` in it, read once. */
export interface Template {
  path: string;
  /**
   * @param program put in front, unless the template begins with it
   * @throws HostError `template_invalid` with the file's name
   */
  render: (values: Values, program?: string) => Rendered;
}

/** Linux takes no longer argument. */
const longestArgument = 131_071;

/**
 * A template from its file. Each value of `<%= %>` stays inside its argument,
 * byte for byte, whatever it holds: the words are told apart before values
 * are put in. The template itself is code of who wrote it.
 * @throws HostError `template_invalid` with the file's name
 */
export async function readTemplate(path: string): Promise<Template> {
  const text = readText(path);
  const { Eta } = await import('eta');
  const values: string[] = [];
  const eta = new Eta({
    useWith: true,
    autoEscape: true,
    autoTrim: false,
    // Its function that puts text in unguarded gets a name nobody calls.
    outputFunctionName: '__unguarded',
    // Stands for the value: no file that we take has a NUL.
    escapeFunction: (value) => `\0${values.push(textOf(value)) - 1}\0`
  });
  const filled = (part: string) =>
    part.replace(/\0(\d+)\0/g, (_, index) => values[Number(index)] ?? '');
  const compiled = attempt(path, () => eta.compile(text));
  return {
    path,
    render: (given, program) =>
      attempt(path, () => {
        values.length = 0;
        const { scope, used } = watched(given);
        const words = splitWords(eta.render(compiled, scope), filled);
        const isThere = program === undefined || words[0] === program;
        const [command, ...args] = isThere ? words : [program, ...words];
        if (!command) throw new Error('it gives no program to run');
        if (/^[A-Za-z_]\w*=/.test(command))
          throw new Error(
            `it begins with "${command.slice(0, 40)}", which only a shell takes for a variable; templateVariables and engines.<name>.env hand over variables`
          );
        checkArguments([command, ...args]);
        return { command, args, used };
      })
  };
}

function readText(path: string): string {
  const text = read(path)
    .replace(/^\uFEFF/, '')
    // A comment; its lines count where a fault is told.
    .replace(/<%#[\s\S]*?%>/g, (comment) => comment.replace(/[^\n]+/g, ''))
    .replaceAll('\r\n', '\n');
  const problem = text.includes('\0')
    ? 'it holds a NUL character'
    : /<%[-_]?\s*~/.test(text)
      ? 'it has "<%~", which would put a value in unguarded; write "<%="'
      : text.includes('<%-')
        ? 'it has "<%-", which is not known here; write "<%=", it changes nothing in a value'
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

/** The values, and which of them were asked for. */
function watched(values: Values): { scope: object; used: Set<string> } {
  const used = new Set<string>();
  const properties = Object.entries(values).map(([name, value]) => {
    const get = () => {
      used.add(name);
      return value;
    };
    return [name, { enumerable: true, get }];
  });
  // Without what every object has: that is no value of ours.
  const scope = Object.create(null, Object.fromEntries(properties));
  return { scope, used };
}

function textOf(value: unknown): string {
  if (value === undefined || value === null) return '';
  if (typeof value === 'object' || typeof value === 'function')
    throw new Error('it puts in something that is no text');
  return String(value);
}

function attempt<T>(path: string, work: () => T): T {
  try {
    return work();
  } catch (error) {
    throw invalid(path, problemOf(error));
  }
}

/** Errors of the template language have their cause in the second line. */
function problemOf(error: unknown): string {
  const lines = messageOf(error).split('\n').filter(Boolean);
  const [first = '', second = ''] = lines;
  const said = first === 'Bad template syntax' ? second : first;
  return error instanceof Error && error.name === 'Error'
    ? said
    : `it has a fault: ${said.replace(/:$/, '')}`;
}

function invalid(path: string, problem: string): HostError {
  return new HostError(
    'template_invalid',
    `The template ${path} cannot be used: ${problem}.`,
    'The user has to mend that file; a change counts at the next call. docs/templates.md shows what a template may hold.'
  );
}
