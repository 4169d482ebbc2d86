import { existsSync } from 'node:fs';
import { homedir } from 'node:os';
import { resolve } from 'node:path';
import { locate } from '../../adapters/child-process/locate.ts';
import { messageOf } from '../../core/errors.ts';
import {
  type Edit,
  entryText,
  withEntry,
  withoutEntry
} from '../clients/client-entry.ts';
import type { Client } from '../clients/clients.ts';
import {
  type Change,
  isReadOnly,
  settingsIn
} from '../clients/settings-file.ts';
import { troupeLaunch } from '../clients/troupe-launch.ts';

/** The planned change of a client's settings or of the configuration. */
export interface Plan {
  label: string;
  file: string;
  before: string | undefined;
  edit: Edit;
}

export interface ClientPlan extends Plan {
  client: Client;
  /** The program, folder or file that shows that the client is installed. */
  trace: string | undefined;
}

export async function planFor(
  client: Client,
  workspace: string,
  isRemoval: boolean,
  variables: string[] = []
): Promise<ClientPlan> {
  const file = client.file(workspace, homedir());
  const facts = {
    client,
    trace: traceOf(client, workspace),
    label: client.label,
    file
  };
  const launch = troupeLaunch();
  const byHand = async (problem: string): Promise<ClientPlan> => {
    const entry = isRemoval ? '' : await entryText(client, launch, variables);
    return { ...facts, before: undefined, edit: { problem, entry } };
  };
  try {
    const before = settingsIn(file, workspace);
    const edit = isRemoval
      ? await withoutEntry(before, client)
      : await withEntry(before, client, launch, variables);
    return 'change' in edit && isReadOnly(file)
      ? byHand('is read-only')
      : { ...facts, before, edit };
  } catch (error) {
    return byHand(messageOf(error));
  }
}

export function changeOf({ file, before, edit }: Plan): Change[] {
  return 'change' in edit ? [{ file, before, text: edit.text }] : [];
}

/** Whether the file has an entry of ours after the edit. */
export function hasEntry(edit: Edit): boolean {
  return 'change' in edit
    ? edit.change !== 'remove'
    : 'stays' in edit && edit.stays === 'ours';
}

/** The state of an entry, as `init` shows it. */
export function stateOf(edit: Edit): string {
  if ('problem' in edit) return 'by hand';
  if ('change' in edit) return edit.change === 'update' ? 'old' : 'not there';
  return { ours: 'is there', foreign: 'not ours', absent: 'not there' }[
    edit.stays
  ];
}

function traceOf(
  { programs, traces, localTraces }: Client,
  workspace: string
): string | undefined {
  const program = programs
    .map((name) => locate(name))
    .find((found) => found !== undefined);
  const paths = [
    ...traces.map((name) => resolve(homedir(), name)),
    ...localTraces.map((name) => resolve(workspace, name))
  ];
  return program ?? paths.find((path) => existsSync(path));
}
