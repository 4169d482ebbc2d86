/** How entries stand in the file of a client. */
export interface EntryFormat {
  /** Of the servers in the file. */
  key: string;
  /**
   * The entry of our name, if there is one.
   * @throws Error that says what the file is, where it cannot be edited
   */
  read: (text: string) => unknown;
  /** A file with the entry, of one that has none; undefined: no file. */
  add: (text: string | undefined, entry: Entry) => string;
  /** The same file, with another start of the program. */
  relaunch: (text: string, entry: Entry) => string;
  /** What the file may have been before, the likeliest first. */
  befores: (text: string) => (string | undefined)[];
  /** All that the file says, to compare. */
  parse: (text: string) => unknown;
  /** As one puts it in by hand. */
  render: (entry: Entry) => string;
}

export type Entry = Record<string, unknown>;

/** The name of our server, of which clients make names of tools. */
export const serverName = 'agents';
