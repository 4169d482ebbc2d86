/** Something that a workspace asks for and gets only when it is trusted. */
export interface Widening {
  /** Its short name: `engines.claude.command`, `agents/planner.md`. */
  setting: string;
  /** What trust would allow, for a person: programs, hosts, names, no values. */
  allows: string;
  /** Where it stands in the configuration; undefined for a file. */
  path?: string[];
  /** Files whose content it rests on, besides the configuration itself. */
  files: string[];
}

const longestName = 60;

/**
 * A name from the workspace as a model may read it: a clone must not be able
 * to put sentences into what a server says.
 */
export function plainName(name: string): string {
  return name.replace(/[^\w./@-]+/g, '_').slice(0, longestName);
}

export function listed(names: unknown[]): string {
  return names.map(String).join(', ');
}
