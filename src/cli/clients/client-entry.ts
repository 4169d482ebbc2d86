import { isDeepStrictEqual } from 'node:util';
import { isObject } from '../../config/overrides.ts';
import { messageOf } from '../../core/errors.ts';
import {
  type Client,
  type Entry,
  type EntryFormat,
  type Launch,
  serverName
} from './clients.ts';
import { jsonFormat } from './json-format.ts';
import { tomlFormat } from './toml-format.ts';
import { isStale, relaunched, startsTroupe } from './troupe-launch.ts';

/** The change of a client's file, or why there is none. */
export type Edit =
  | { change: 'add' | 'update'; text: string }
  /** Without a text, the file is removed: it has only the entry of `init`. */
  | { change: 'remove'; text: string | undefined }
  | { stays: 'ours' | 'foreign' | 'absent' }
  /** Why the user has to edit the file, and the entry to add. */
  | { problem: string; entry: string };

/**
 * Adds the server to the text of a client's file and keeps all other bytes. If
 * an entry starts another copy of troupe, replaces only its command and
 * arguments.
 * @param text undefined when there is no file
 * @param variables names that the client is to hand on
 */
export async function withEntry(
  text: string | undefined,
  client: Client,
  launch: Launch,
  variables: string[] = []
): Promise<Edit> {
  const format = await formatOf(client);
  const wanted = client.entry(launch, variables);
  const byHand = (problem: string): Edit => ({
    problem,
    entry: format.render(wanted)
  });
  return edited(text ?? '', format, byHand, (plain, entry) => {
    if (entry === undefined) {
      const added = format.add(text === undefined ? text : plain, wanted);
      return hasBoth(format, added, wanted, plain)
        ? { change: 'add', text: added }
        : byHand('has its servers in a form that is not edited here');
    }
    if (!isObject(entry) || !startsTroupe(entry)) return { stays: 'foreign' };
    if (!isStale(entry, launch)) return { stays: 'ours' };
    const updated = { ...entry, ...relaunched(entry, launch) };
    const changed = format.relaunch(plain, updated);
    return hasBoth(format, changed, updated, plain)
      ? { change: 'update', text: changed }
      : byHand('has an entry that starts another copy of troupe');
  });
}

/** The text of the entry, for a user who edits the file. */
export async function entryText(
  client: Client,
  launch: Launch,
  variables: string[]
): Promise<string> {
  return (await formatOf(client)).render(client.entry(launch, variables));
}

/** Removes the server from the text of a client's file and keeps the rest. */
export async function withoutEntry(
  text: string | undefined,
  client: Client
): Promise<Edit> {
  if (text === undefined) return { stays: 'absent' };
  const format = await formatOf(client);
  const byHand = (problem: string): Edit => ({ problem, entry: '' });
  return edited(text, format, byHand, (plain, entry) => {
    if (entry === undefined) return { stays: 'absent' };
    if (!isObject(entry) || !startsTroupe(entry)) return { stays: 'foreign' };
    const originals = format.originals(plain);
    const isExact = (before: string | undefined) =>
      safely(() => format.add(before, entry)) === plain;
    const exact = originals.findIndex(isExact);
    if (exact >= 0) return { change: 'remove', text: originals[exact] };
    const rest = originals.find(
      (before) => before !== undefined && hasBoth(format, plain, entry, before)
    );
    return rest === undefined
      ? byHand('has an entry of ours in a form that is not edited here')
      : { change: 'remove', text: rest };
  });
}

/** The entry with `serverName`, if the file can be parsed and has one. */
export async function entryIn(
  text: string | undefined,
  client: Client
): Promise<Entry | undefined> {
  const format = await formatOf(client);
  const entry = safely(() => format.read(withoutBom(text ?? '')));
  return isObject(entry) ? entry : undefined;
}

async function formatOf({ key }: Client): Promise<EntryFormat> {
  return key === undefined
    ? tomlFormat(await import('smol-toml'))
    : jsonFormat(await import('jsonc-parser'), key);
}

/** Edits a text without its byte order mark, which the file keeps. */
function edited(
  text: string,
  format: EntryFormat,
  byHand: (problem: string) => Edit,
  work: (plain: string, entry: unknown) => Edit
): Edit {
  const plain = withoutBom(text);
  const bom = text.slice(0, text.length - plain.length);
  try {
    const edit = work(plain, format.read(plain));
    return 'change' in edit && edit.text !== undefined
      ? { ...edit, text: `${bom}${edit.text}` }
      : edit;
  } catch (error) {
    return byHand(messageOf(error));
  }
}

function withoutBom(text: string): string {
  return text.replace(/^\uFEFF/, '');
}

/** Whether `text` has the content of `before` and, in addition, the entry. */
function hasBoth(
  format: EntryFormat,
  text: string,
  entry: Entry,
  before: string
): boolean {
  const isSame = safely(() => {
    const found = JSON.stringify(format.read(text));
    const [now, then] = [text, before].map((one) =>
      withoutOurs(format.parse(one), format.key)
    );
    return found === JSON.stringify(entry) && isDeepStrictEqual(now, then);
  });
  return isSame === true;
}

function withoutOurs(whole: unknown, key: string): unknown {
  if (!isObject(whole)) return whole;
  const { [key]: servers, ...rest } = whole;
  if (!isObject(servers)) return { ...whole };
  const { [serverName]: _, ...others } = servers;
  return Object.keys(others).length > 0 ? { ...rest, [key]: others } : rest;
}

function safely<T>(work: () => T): T | undefined {
  try {
    return work();
  } catch {
    return undefined;
  }
}
