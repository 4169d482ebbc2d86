import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { createProcesses } from '../../../src/adapters/child-process/processes.ts';
import { Council, type FormatView } from '../../../src/core/council/council.ts';
import { CouncilStore } from '../../../src/core/council/council-store.ts';
import type {
  CouncilState,
  Participant
} from '../../../src/core/council/state.ts';
import type { View } from '../../../src/core/council/view.ts';
import { createTempWorkspace } from '../workspaces/temp-workspace.ts';
import { witnessesOf } from './council-states.ts';

/** A council's file in a temporary folder, and the servers that share it. */
export interface CouncilRoom {
  folder: string;
  store: CouncilStore;
  /** The council as the server with this number has it. */
  server: (pid: number, dead?: number[]) => Council;
  state: () => CouncilState;
  participant: (name: string) => Participant | undefined;
  /** Puts a state in the file. */
  put: (state: CouncilState) => Promise<void>;
}

/** Removes it when the test has finished. */
export function openCouncilRoom(): CouncilRoom {
  const workspace = createTempWorkspace();
  const path = join(workspace.path, 'state.json');
  const store = new CouncilStore(path, createProcesses(''));
  onTestFinished(() => {
    store.close();
    workspace.remove();
  });
  return {
    folder: workspace.path,
    store,
    server: (pid, dead = []) =>
      new Council({ store, witnesses: witnessesOf(pid, dead) }),
    state: () => store.read(),
    participant: (name) =>
      store.read().participants.find(({ agent_name }) => agent_name === name),
    put: (state) => store.change(() => ({ state, result: undefined }))
  };
}

/** The view itself as the answer, which ends with its last response. */
export const whole: FormatView<View> = (view) => ({
  answer: view,
  cursor: view.responses.at(-1)?.id ?? view.cursor
});
