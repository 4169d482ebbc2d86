const toolsets = ['spawn', 'runs', 'squad', 'council', 'orchestrator'];

/** Every choice of toolsets that a server can be started with. */
export const toolsetChoices: string[] = Array.from(
  { length: 2 ** toolsets.length - 1 },
  (_, index) => toolsets.filter((_, bit) => (index + 1) & (1 << bit)).join()
);

/** A worker's tools are never served together with the rest. */
export const workerToolNames = ['wait_for_command', 'emit_event'];

/**
 * Tools that a text speaks of though its reader does not have them.
 * @param all the names of all tools there are
 */
export function unservedIn(
  text: string,
  all: string[],
  served: string[]
): string[] {
  // What a shell is given is no tool.
  const words = text.replace(/troupe [a-z]+/g, '');
  return all
    .filter((name) => !served.includes(name))
    .filter((name) => patternOf(name).test(words));
}

/** Two are called like everyday words, and meant only where they are called. */
function patternOf(name: string): RegExp {
  return name.includes('_')
    ? new RegExp(`\\b${name}\\b`)
    : new RegExp(
        `\\b(?:call|see|in|by) ${name}\\b|\\b${name} (?:\\\\?\\{|shows|gives|has|tells|says|names)`,
        'i'
      );
}
