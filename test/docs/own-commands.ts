import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Command } from 'commander';
import { z } from 'zod';
import { createCouncil } from '../../src/cli/commands/serve/server-commands.ts';
import { createProgram } from '../../src/cli/entry/program.ts';
import { messageOf } from '../../src/core/errors.ts';
import { packageRoot } from '../kit/judges/documents.ts';

const { scripts } = z
  .object({ scripts: z.record(z.string(), z.string()) })
  .parse(JSON.parse(readFileSync(join(packageRoot, 'package.json'), 'utf8')));

/**
 * What is wrong with a command, as far as it is ours: `troupe`, `council`,
 * however they are started, npm's scripts and our own programs.
 */
export function faultOf(words: string[]): string | undefined {
  const own = ownWords(words);
  if (own) return programFault(own);
  const [program, first = '', second = ''] = words;
  if (program === 'npm') return npmFault(first, second);
  if (program === 'node' && /^(scripts|bench|dist)\//.test(first))
    return existsSync(join(packageRoot, first))
      ? undefined
      : `there is no ${first}`;
  return undefined;
}

/** `troupe` or `council` and what follows, where a command starts one. */
function ownWords(words: string[]): string[] | undefined {
  const [program, ...rest] = words;
  if (program === 'troupe' || program === 'council') return words;
  if (program === 'node') {
    const [file = '', ...more] = rest;
    const [, name] = /(?:^|\/)dist\/(troupe|council)\.cjs$/.exec(file) ?? [];
    return name ? [name, ...more] : undefined;
  }
  if (program === 'npx') {
    const at = rest.findIndex(
      (word, index) => !word.startsWith('-') && rest[index - 1] !== '-p'
    );
    const [name = ''] = rest.slice(at, at + 1);
    const isOurs = /^(troupe|council)(@[\w.]+)?$/.test(name);
    return isOurs
      ? [name.split('@')[0] ?? '', ...rest.slice(at + 1)]
      : undefined;
  }
  // A client gets the command of a server: `claude mcp add agents -- npx …`
  const at = words.indexOf('--');
  return at > 0 ? ownWords(words.slice(at + 1)) : undefined;
}

function npmFault(first: string, script: string): string | undefined {
  const name = first === 'run' || first === 'run-script' ? script : first;
  const known = ['ci', 'install', 'i', 'init', 'pack', 'publish', 'exec'];
  return name in scripts || (name === first && known.includes(name))
    ? undefined
    : `package.json has no script "${name}"`;
}

/** The command of a program that words name, and what is left of them. */
function commandOf([name, ...words]: string[]) {
  const [first = '', second = '', ...rest] = words;
  const isCouncil = name === 'council' || first === 'council';
  const program = isCouncil ? createCouncil() : createProgram();
  const at = name === 'troupe' && isCouncil ? 1 : 0;
  const command = program.commands.find((one) => one.name() === words[at]);
  return { program, command, words: at === 1 ? rest : [second, ...rest] };
}

function programFault(all: string[]): string | undefined {
  const [name, first] = all;
  if (first === undefined || /^(-h|--help|-V|--version)$/.test(first))
    return undefined;
  if (first === 'help') return programFault([name ?? '', ...all.slice(2)]);
  const { command, words } = commandOf(all);
  if (!command) return `${name} has no command "${first}"`;
  const given = words.filter((word) => word !== '');
  if (given.some((word) => word === '--help' || word === '-h'))
    return undefined;
  return parseFault(command, given);
}

function parseFault(command: Command, words: string[]): string | undefined {
  command.exitOverride().configureOutput({ writeErr: () => undefined });
  try {
    const { operands, unknown } = command.parseOptions(words);
    const [flag] = unknown;
    if (flag?.startsWith('-')) return `it has no flag ${flag}`;
    const wanted = command.registeredArguments;
    const least = wanted.filter(({ required }) => required).length;
    const isOpen = wanted.at(-1)?.variadic ?? false;
    if (operands.length < least) return 'an argument is missing';
    if (!isOpen && operands.length > wanted.length) return 'too many arguments';
    return undefined;
  } catch (error) {
    return messageOf(error);
  }
}

/**
 * What is wrong with a line that speaks of a command of ours, with names in
 * the place of values: the command or one of its flags is not there.
 */
export function mentionFault(line: string): string | undefined {
  const [name = '', ...rest] = line.replace(/[[\]|,="]/g, ' ').split(/\s+/);
  const words = rest.filter((word) => word !== '…');
  const [first = ''] = words;
  if (!/^[a-z]+$/.test(first)) return undefined;
  // A command of the published agents-council, which pages speak of.
  if (line === 'council chat') return undefined;
  if (first === 'help' || line === 'troupe council') return undefined;
  const { command, program } = commandOf([name, ...words]);
  if (!command) return `${name} has no command "${first}"`;
  const known = [...command.options, ...program.options].flatMap(
    ({ short, long }) => [short, long]
  );
  const missing = words.filter(
    (word) => /^--?[a-z]/i.test(word) && !known.includes(word)
  );
  const others = missing.filter((flag) => !/^(-h|--help)$/.test(flag));
  return others.length > 0 ? `${name} ${first} has no ${others}` : undefined;
}
