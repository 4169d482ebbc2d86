import { plainText } from '../../core/text.ts';
import type { CliEngine, EngineRequest } from '../../plugin/plugin.ts';
import type { ProbeOutput } from './probe-program.ts';

/**
 * Flags that an engine passes to its program and that the help no longer
 * lists. Null when this is undecided: some flags are missing, but the output
 * may be an error message that names a flag or two, or a part of the help.
 * @throws EngineFault when the plugin fails to build its arguments
 */
export function goneFlags(
  engine: CliEngine,
  answers: (ProbeOutput | undefined)[]
): string[] | null {
  const listed = answers.map(flagsOfAnswer);
  const unlisted = new Set(engine.probe?.unlisted);
  const flags = flagsOf(engine).filter((flag) => !isListed(flag, unlisted));
  const isGone = (flag: string) => !listed.some((set) => isListed(flag, set));
  const gone = flagNames(flags.filter(isGone));
  if (gone.length === 0) return [];
  const isWhole =
    answers.every((answer) => answer && !answer.isCut) &&
    listed.every((set) => set.size > 0);
  const isHelp = gone.length < flagNames(flags).length / 2;
  return isWhole && isHelp ? gone : null;
}

/**
 * Every flag that an engine may pass to its program, sorted and without
 * duplicates: `-x`, `--long`, and the part before `=` of `--long=value`. The
 * flags come from sample requests whose values do not look like flags.
 * @throws EngineFault when the plugin fails to build its arguments
 */
export function flagsOf(engine: CliEngine): string[] {
  const flags = requestsTo(engine).flatMap((request) =>
    flagsIn(engine.args(request))
  );
  return [...new Set(flags)].sort();
}

function flagsIn(args: string[]): string[] {
  const end = args.indexOf('--');
  return (end < 0 ? args : args.slice(0, end)).flatMap(
    (word) => /^--?[a-z][\w.-]*/i.exec(word) ?? []
  );
}

function requestsTo(engine: CliEngine): EngineRequest[] {
  const variations: Partial<EngineRequest>[] = [
    {},
    { model: 'model' },
    { systemPrompt: 'brief' },
    { baseUrl: 'http://127.0.0.1' },
    { asRoot: true }
  ];
  if (engine.takesSessionId)
    variations.push({ newSessionId: '00000000-0000-4000-8000-000000000000' });
  if (engine.resumes)
    variations.push(
      { sessionId: 'session' },
      { sessionId: 'session', model: 'model', systemPrompt: 'brief' }
    );
  const plain = { prompt: 'prompt', cwd: '/directory', asRoot: false };
  return (['read', 'write', 'full'] as const).flatMap((access) =>
    variations.map((changes) => ({ ...plain, access, ...changes }))
  );
}

/** Includes stderr, where some programs print help. A failed call has none. */
function flagsOfAnswer(answer: ProbeOutput | undefined): Set<string> {
  if (answer?.exitCode !== 0) return new Set();
  return flagsInHelp(`${answer.stdout}\n${answer.stderr}`);
}

/**
 * The flags that a help text names, also in examples and explanations: to miss
 * a removed flag does less harm than to report a flag as removed by mistake.
 */
export function flagsInHelp(help: string): Set<string> {
  const plain = plainText(help)
    // A long flag may be wrapped at one of its dashes.
    .replace(/(?<=\w)-\n[ \t]*(?=\w)/g, '-')
    // `--[no-]colour` stands for two flags.
    .replace(/--\[no-\](\w[\w.-]*)/g, '--no-$1 --$1')
    // `-jN` may be `-j` with a value.
    .replace(/(?<![\w-])(-[a-z])([A-Z]+)(?!\w)/g, '$1$2 $1');
  return new Set(plain.match(/(?<![\w-])--?[a-z](?:[\w.-]*\w)?/gi));
}

/** Also true for combined short flags (`-xz`) and a value in `-j4`. */
export function isListed(flag: string, listed: Set<string>): boolean {
  const short = /^-[a-z](?=\w)/i.exec(flag)?.[0];
  return listed.has(flag) || (short !== undefined && listed.has(short));
}

/** Removes values from short flags: `-j4` becomes `-j`. */
export function flagNames(flags: string[]): string[] {
  const names = flags.map((flag) => flag.replace(/^(-[a-z])\d.*$/i, '$1'));
  return [...new Set(names)];
}
