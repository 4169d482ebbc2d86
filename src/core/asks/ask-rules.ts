import { isAbsolute, join, resolve } from 'node:path';
import { realPathOf } from '../paths/troupe-home.ts';
import type { Ask } from './ask.ts';

/** Answers asks without anybody. All fields that are given have to match. */
export interface AskRule {
  engine?: string | undefined;
  tool?: string | undefined;
  /** The first words of the command. */
  command?: string | undefined;
  /** A pattern with `*`, `**` and `?`, relative to the workspace. */
  path?: string | undefined;
  /** The origin of an address. */
  url?: string | undefined;
}

export interface AskRules {
  allow: AskRule[];
  deny: AskRule[];
}

interface Surroundings {
  engine: string;
  cwd: string;
  workspace: string;
  rules: AskRules;
}

/** The decision of the user's rules about a permission. `deny` wins. */
export function ruleFor(
  ask: Pick<Ask, 'kind' | 'tool' | 'subject'>,
  surroundings: Surroundings
): 'allow' | 'deny' | undefined {
  if (ask.kind !== 'permission') return undefined;
  const { allow, deny } = surroundings.rules;
  const has = (rules: AskRule[], part: 'whole' | 'any') =>
    rules.some((rule) => isMatch(rule, ask, surroundings, part));
  if (has(deny, 'any')) return 'deny';
  return has(allow, 'whole') ? 'allow' : undefined;
}

/**
 * @param part `any`: a rule about commands matches if any command of a shell
 *   line does; `whole`: only a line that is one plain command can match
 */
function isMatch(
  rule: AskRule,
  { tool, subject }: Pick<Ask, 'tool' | 'subject'>,
  { engine, cwd, workspace }: Surroundings,
  part: 'whole' | 'any'
): boolean {
  const { command, path, url } = subject;
  const file = (pattern: string) =>
    path !== undefined &&
    globOf(isAbsolute(pattern) ? pattern : join(workspace, pattern)).test(
      realPathOf(resolve(cwd, path))
    );
  const checks: [given: string | undefined, (given: string) => boolean][] = [
    [rule.engine, (given) => given === engine],
    [rule.tool, (given) => given === tool],
    [
      rule.command,
      (given) => command !== undefined && begins(command, given, part)
    ],
    [rule.path, file],
    [
      rule.url,
      (given) => url !== undefined && originOf(url) === originOf(given)
    ]
  ];
  return checks.every(([given, fits]) => given === undefined || fits(given));
}

/** Characters with which a shell does more than start one program. */
const operators = /[;&|<>()`$\\\n\r]/;

function begins(
  command: string,
  prefix: string,
  part: 'whole' | 'any'
): boolean {
  if (part === 'whole' && operators.test(command)) return false;
  const wanted = wordsOf(prefix);
  return command
    .split(operators)
    .map(wordsOf)
    .some((words) => wanted.every((word, index) => words[index] === word));
}

function wordsOf(text: string): string[] {
  return text.split(/\s+/).filter(Boolean);
}

function originOf(address: string): string | undefined {
  try {
    return new URL(address).origin;
  } catch {
    return undefined;
  }
}

function globOf(pattern: string): RegExp {
  const source = pattern.replace(
    /\*\*\/?|[*?]|[^*?]+/g,
    (part) =>
      ({ '**/': '(?:.*/)?', '**': '.*', '*': '[^/]*', '?': '[^/]' })[part] ??
      part.replace(/[\\^$.+()[\]{}|/]/g, '\\$&')
  );
  return new RegExp(`^${source}$`, 's');
}
