/**
 * The part of the plugin contract for `doctor`: what a program says of its
 * version, its flags and its login. Types only.
 */
export interface Probe {
  /**
   * Arguments that print the version. Default `--version` when `verified` is
   * there; without both, `doctor` does not run the program to ask.
   */
  version?: string[];
  /** The versions this plugin was tested with: `1.2.3`, both included. */
  verified?: { oldest: string; newest: string };
  /**
   * Arguments that print help, for each place that tells flags of `args`.
   * Default `--help` when `verified` is there; `[]`: no flag is checked.
   */
  help?: string[][];
  /** Flags that work though no help tells them. */
  unlisted?: string[];
  /** Arguments that tell the login state, and how to read it. */
  login?: {
    args: string[];
    read: (output: {
      exitCode: number;
      stdout: string;
      stderr: string;
    }) => 'logged in' | 'not logged in' | 'unknown';
  };
  /** What the user does to log in. */
  loginHint?: string;
}
