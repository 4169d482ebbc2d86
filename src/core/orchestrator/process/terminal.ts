import type { LaunchRequest } from '../../runs/ports.ts';

/** A worker's pane. It includes the agent, because pane ids are reused. */
export interface PaneRef {
  agentId: string;
  /** tmux's id, such as `%12`. */
  paneId: string;
  /** Path of the terminal server's socket; empty: the user's default. */
  socket: string;
}

export interface PaneState extends PaneRef {
  /** Whether its program has ended; the pane still shows the last lines. */
  isDead: boolean;
  /** Whether it is in the window where a new pane would open. */
  isHere: boolean;
}

export interface PaneRequest {
  agentId: string;
  /** One line, shown to the user. */
  title: string;
  cwd: string;
}

/** The terminal that shows workers to the user; implemented in adapters/. */
export interface Terminal {
  /**
   * Opens a blank pane with this agent's mark. The focus and the order of the
   * other panes stay the same.
   * @throws HostError `window_full`, `terminal_failed`
   */
  open(request: PaneRequest): Promise<PaneRef>;
  /**
   * Runs a program under its supervisor in a pane, replacing its content.
   * @throws HostError `terminal_failed`
   */
  launch(pane: PaneRef, request: LaunchRequest): Promise<void>;
  /** The last lines with text, oldest first; none if the pane is gone. */
  screen(pane: PaneRef, lines: number): Promise<string[]>;
  /** Pastes a text, then presses Enter. */
  paste(pane: PaneRef, text: string): Promise<void>;
  /** Closes a pane and ends its processes; does nothing if it is gone. */
  close(pane: PaneRef): Promise<void>;
  /** This workspace's panes on the given terminal servers, and on ours. */
  panes(sockets: string[]): Promise<PaneState[]>;
}
