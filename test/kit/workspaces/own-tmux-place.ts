import {
  ownTmux,
  removeOwnTmux
} from '../../../src/adapters/child-process/agent-tmux.ts';

/** Whether agents get a tmux of their own: no server on the usual socket. */
export function mayHaveOwnTmux(): boolean {
  const probed = { directory: '/none/probe', environment: {} };
  const isFree = ownTmux(probed).TMUX_TMPDIR !== undefined;
  removeOwnTmux(probed.directory);
  return isFree;
}
