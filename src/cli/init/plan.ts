import { messageOf } from '../../core/errors.ts';
import {
  type Edit,
  entryText,
  withEntry,
  withoutEntry
} from '../client-entry.ts';
import type { Client } from '../clients.ts';
import { type Surroundings, traceOf } from './find-clients.ts';
import { type Change, isReadOnly, settingsIn } from './settings-file.ts';
import { troupeLaunch } from './troupe-launch.ts';

/** What is to become of the file of a client, or of the configuration. */
export interface Plan {
  label: string;
  file: string;
  before: string | undefined;
  edit: Edit;
}

export interface ClientPlan extends Plan {
  client: Client;
  /** What shows that the client is on this machine. */
  trace: string | undefined;
}

export async function planFor(
  client: Client,
  surroundings: Surroundings,
  isRemoval: boolean
): Promise<ClientPlan> {
  const file = client.file(surroundings.workspace, surroundings.home);
  const trace = traceOf(client, surroundings);
  const { label } = client;
  const launch = troupeLaunch();
  const byHand = async (problem: string): Promise<ClientPlan> => {
    const entry = isRemoval ? '' : await entryText(client, launch);
    const edit = { problem, entry };
    return { client, trace, label, file, before: undefined, edit };
  };
  try {
    const before = settingsIn(file, surroundings.workspace);
    const edit = isRemoval
      ? await withoutEntry(before, client)
      : await withEntry(before, client, launch);
    return 'change' in edit && isReadOnly(file)
      ? byHand('is read-only')
      : { client, trace, label, file, before, edit };
  } catch (error) {
    return byHand(messageOf(error));
  }
}

export function changeOf({ file, before, edit }: Plan): Change[] {
  return 'change' in edit ? [{ file, before, text: edit.text }] : [];
}

/** As the table says it. */
export function stateOf(edit: Edit): string {
  if ('problem' in edit) return 'by hand';
  if ('change' in edit) return edit.change === 'update' ? 'old' : 'not there';
  return { ours: 'is there', foreign: 'not ours', absent: 'not there' }[
    edit.stays
  ];
}
