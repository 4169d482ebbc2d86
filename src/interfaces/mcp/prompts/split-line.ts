import type { PromptFile } from './prompt-file.ts';

export interface Line {
  /** Argument → value. */
  given: Record<string, string>;
  /** Stands behind the first argument. */
  note?: string;
}

/**
 * Claude Code cuts what a user has typed at its spaces, gives each argument
 * one word and drops the rest; but its model sees the line. So the words are
 * put together again, and the model is told where all of them are.
 */
export function joinedLine(
  { arguments: all }: Pick<PromptFile, 'arguments'>,
  given: Record<string, string>,
  clientName: string
): Line {
  const [first] = all;
  const words = all.flatMap(({ name }) => given[name] ?? []);
  const isCut =
    /claude-code/i.test(clientName) && words.every((word) => !/\s/.test(word));
  if (!first || !isCut) return { given };
  const others = all.slice(1).map(({ name }) => `\`${name}\``);
  return {
    given: { [first.name]: words.join(' ') },
    note: `These may be the first words only. The whole line is in \`<command-args>\` above, and that counts; it may name ${others.join(' and ') || 'more'}, too.`
  };
}
