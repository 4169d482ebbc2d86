import { realpathSync } from 'node:fs';
import { basename } from 'node:path';
import type { LaunchRequest } from '../../core/runs/ports.ts';
import { KnownFiles } from '../../core/state/files/known-files.ts';
import { headOf } from '../../core/state/files/text-file.ts';
import { locate } from './locate.ts';

type Program = Pick<LaunchRequest, 'command' | 'args' | 'isPlain'> & {
  /** The program's own, where the wrapped program is found. */
  path?: string | undefined;
};

/**
 * How a program writes its output: through pipes that are copied to its files,
 * or into the files themselves. A script may reopen /dev/stdout, which truncates
 * a file but no pipe. Node and Bun lose output beyond the 64 KiB that a pipe
 * holds when they exit, but nothing that they write into a file. So scripts,
 * and interpreters that write synchronously, get pipes. Among the scripts whose
 * output is events, those that may hand over to Node get none: the last event
 * counts most. A program without an answer on stdout, which may be in a
 * terminal, gets none either.
 */
export function outputRoute(program: Program): 'pipe' | 'file' {
  if (program.isPlain === undefined) return 'file';
  try {
    const [command = '', ...args] = withoutWrappers(program);
    const path = realpathSync(command);
    const { interpreter, handsOver } = knownScripts.read(path, () =>
      readScript(path)
    );
    if (!interpreters.test(basename(interpreter ?? path))) return 'file';
    if (program.isPlain) return 'pipe';
    const doesSo = interpreter ? handsOver : mayHandOver.test(textIn(args));
    return doesSo ? 'file' : 'pipe';
  } catch {
    return 'file';
  }
}

/** What is known of a program that may be a script. */
interface Script {
  /** Its first line names it; undefined for a program without one. */
  interpreter: string | undefined;
  handsOver: boolean;
}

const knownScripts = new KnownFiles<Script>(50);

/** Longer scripts are judged by their beginning. */
const textBytes = 64 * 1024;

const interpreters =
  /^(sh|ash|dash|bash|ksh|mksh|yash|zsh|busybox|python|perl|ruby|php|lua|[gm]?awk)\d*(\.\w+)*$/;

/** Programs that run the program among their arguments. */
const wrappers =
  /^(env|nice|ionice|chrt|taskset|timeout|nohup|setsid|stdbuf|xargs|time|flock|sudo|doas|caffeinate)$/;

/**
 * A script that may become another program, or pass its arguments to one. A
 * wrapper of an agent's program is such a script, and that program may be Node.
 * A redirection by `exec` changes no program.
 */
const mayHandOver =
  /\$(@|\*|\{[@*])|\bexec\s+[^\s\d<>&]|\b(node|nodejs|bun|bunx|deno|npx|npm|pnpm|yarn)\b/;

function withoutWrappers({ command, args, path }: Program): string[] {
  if (!wrappers.test(basename(command))) return [command, ...args];
  const words = args.flatMap((word, index) => {
    // `env -S` takes a whole command line.
    const isSplit = word.startsWith('-S') || args[index - 1] === '-S';
    return isSplit ? word.replace(/^-S/, '').split(/\s+/) : [word];
  });
  // Operands of a wrapper, such as numbers, are no programs.
  for (const [index, word] of words.entries()) {
    if (/^-|=/.test(word)) continue;
    const found = locate(word, path);
    if (found)
      return withoutWrappers({
        ...{ command: found, path },
        args: words.slice(index + 1)
      });
  }
  return [command];
}

/** The script that an interpreter runs, if its arguments contain or name it. */
function textIn(args: string[]): string {
  const file = args.find((word) => !word.startsWith('-'));
  return `${args.join('\n')}\n${file === undefined ? '' : headOf(file, textBytes)}`;
}

function readScript(path: string): Script {
  const text = headOf(path, textBytes);
  return {
    interpreter: interpreterIn(text),
    handsOver: mayHandOver.test(text)
  };
}

function interpreterIn(text: string): string | undefined {
  const [, words] = /^#![ \t]*(.*)/.exec(text) ?? [];
  const [first, ...others] = words?.split(/\s+/) ?? [];
  if (first === undefined || basename(first) !== 'env') return first;
  // The flags and variables of `env` come before the program.
  return others.find((word) => !/^-|=/.test(word));
}
