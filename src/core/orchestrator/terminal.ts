import type { LaunchRequest } from '../runs/ports.ts';

/** Where a worker shows. Pane ids are used again, so the agent belongs to it. */
export interface PaneRef {
  agentId: string;
  /** As tmux calls it: `%12`. */
  paneId: string;
  /** Path of the terminal server's socket; empty: the user's default. */
  socket: string;
}

export interface PaneState extends PaneRef {
  /** Its program has ended; what it said last still stands there. */
  isDead: boolean;
  /** In the window where a new pane would open now. */
  isHere: boolean;
}

export interface PaneRequest {
  agentId: string;
  /** For people, one line. */
  title: string;
  cwd: string;
}

/** A terminal that people watch, as the core needs it. */
export interface Terminal {
  /**
   * Opens a blank pane that is marked as this agent's, and takes neither
   * focus nor place in order from those that were there.
   * @throws HostError `window_full`, `terminal_failed`
   */
  open(request: PaneRequest): Promise<PaneRef>;
  /**
   * Runs a program under its supervisor in a pane, in place of what is there.
   * @throws HostError `terminal_failed`
   */
  launch(pane: PaneRef, request: LaunchRequest): Promise<void>;
  /** The last lines that say something, oldest first; empty when it is gone. */
  screen(pane: PaneRef, lines: number): Promise<string[]>;
  /** Types a text as one piece, then Enter. */
  paste(pane: PaneRef, text: string): Promise<void>;
  /** Closes a pane with whatever runs in it; nothing when it is gone. */
  close(pane: PaneRef): Promise<void>;
  /** This workspace's panes on the given terminal servers, and on ours. */
  panes(sockets: string[]): Promise<PaneState[]>;
}
