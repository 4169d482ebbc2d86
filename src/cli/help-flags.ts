import { onTerminal } from './text.ts';

/**
 * The flags that a help text tells, its own examples and explanations
 * included: better to miss that a flag is gone than to say so wrongly.
 */
export function flagsToldIn(help: string): Set<string> {
  const plain = onTerminal(help.replace(colours, ''))
    // A long flag may be wrapped at one of its dashes.
    .replace(/(?<=\w)-\n[ \t]*(?=\w)/g, '-')
    // `--[no-]colour` is two.
    .replace(/--\[no-\](\w[\w.-]*)/g, '--no-$1 --$1');
  return new Set(plain.match(/(?<![\w-])--?[a-z](?:[\w.-]*\w)?/gi));
}

/** True also for short flags in one word, or with a value: `-xz`, `-j4`. */
export function isTold(flag: string, told: Set<string>): boolean {
  const short = /^-[a-z](?=\w)/i.exec(flag)?.[0];
  return told.has(flag) || (short !== undefined && told.has(short));
}

const colours = /\u001b\[[\d;]*m/g;
