import { plainText } from './plain-text.ts';

/**
 * The flags that a help text tells, its own examples and explanations
 * included: better to miss that a flag is gone than to say so wrongly.
 */
export function flagsToldIn(help: string): Set<string> {
  const plain = plainText(help)
    // A long flag may be wrapped at one of its dashes.
    .replace(/(?<=\w)-\n[ \t]*(?=\w)/g, '-')
    // `--[no-]colour` is two.
    .replace(/--\[no-\](\w[\w.-]*)/g, '--no-$1 --$1')
    // `-jN` may be `-j` with a value.
    .replace(/(?<![\w-])(-[a-z])([A-Z]+)(?!\w)/g, '$1$2 $1');
  return new Set(plain.match(/(?<![\w-])--?[a-z](?:[\w.-]*\w)?/gi));
}

/** True also for short flags in one word, or with a value: `-xz`, `-j4`. */
export function isTold(flag: string, told: Set<string>): boolean {
  const short = /^-[a-z](?=\w)/i.exec(flag)?.[0];
  return told.has(flag) || (short !== undefined && told.has(short));
}

/** The flag without a value that stands in the same word: `-j4` is `-j`. */
export function withoutValue(flag: string): string {
  return flag.replace(/^(-[a-z])\d.*$/i, '$1');
}
