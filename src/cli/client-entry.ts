import { isDeepStrictEqual } from 'node:util';
import { isObject } from '../config-overrides.ts';
import { messageOf } from '../core/errors.ts';
import type { Client, Launch } from './clients.ts';
import {
  type Entry,
  type EntryFormat,
  serverName
} from './init/entry-format.ts';
import { jsonFormat } from './init/json-format.ts';
import { tomlFormat } from './init/toml-format.ts';
import { isStale, relaunched, startsTroupe } from './init/troupe-launch.ts';

/** What is to become of a client's file, or why nothing is. */
export type Edit =
  | { change: 'add' | 'update'; text: string }
  /** Without a text the file goes: it holds nothing but what we put there. */
  | { change: 'remove'; text: string | undefined }
  | { stays: 'ours' | 'foreign' | 'absent' }
  /** To be done by hand, and why; the entry as it has to be. */
  | { problem: string; entry: string };

/**
 * A client's file with our server in it. All that is there stays, byte for
 * byte; of an entry of ours that starts another copy, that start is changed.
 * @param text undefined when there is no file
 */
export async function withEntry(
  text: string | undefined,
  client: Client,
  launch: Launch
): Promise<Edit> {
  const format = await formatOf(client);
  const wanted = client.entry(launch);
  const byHand = (problem: string): Edit => ({
    problem,
    entry: format.render(wanted)
  });
  return edited(text ?? '', format, byHand, (plain, entry) => {
    if (entry === undefined) {
      const added = format.add(text === undefined ? text : plain, wanted);
      return says(format, added, wanted, plain)
        ? { change: 'add', text: added }
        : byHand('has its servers in a form that is not edited here');
    }
    if (!isObject(entry) || !startsTroupe(entry)) return { stays: 'foreign' };
    if (!isStale(entry, launch)) return { stays: 'ours' };
    const renewed = { ...entry, ...relaunched(entry, launch) };
    const changed = format.relaunch(plain, renewed);
    return says(format, changed, renewed, plain)
      ? { change: 'update', text: changed }
      : byHand('has an entry that starts another copy of troupe');
  });
}

/** The entry as one puts it in by hand. */
export async function entryText(
  client: Client,
  launch: Launch
): Promise<string> {
  return (await formatOf(client)).render(client.entry(launch));
}

/** A client's file without our server; what is not ours stays. */
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
    const befores = format.befores(plain);
    const isExact = (before: string | undefined) =>
      safely(() => format.add(before, entry)) === plain;
    const exact = befores.findIndex(isExact);
    if (exact >= 0) return { change: 'remove', text: befores[exact] };
    const rest = befores.find(
      (before) => before !== undefined && says(format, plain, entry, before)
    );
    return rest === undefined
      ? byHand('has an entry of ours in a form that is not edited here')
      : { change: 'remove', text: rest };
  });
}

/** The entry of our name, if the file can be read and has one. */
export async function entryIn(
  text: string | undefined,
  client: Client
): Promise<Entry | undefined> {
  const format = await formatOf(client);
  const entry = safely(() => format.read(withoutMark(text ?? '')));
  return isObject(entry) ? entry : undefined;
}

async function formatOf({ key }: Client): Promise<EntryFormat> {
  return key === undefined
    ? tomlFormat(await import('smol-toml'))
    : jsonFormat(await import('jsonc-parser'), key);
}

/** A file with a byte order mark keeps it. */
function edited(
  text: string,
  format: EntryFormat,
  byHand: (problem: string) => Edit,
  work: (plain: string, entry: unknown) => Edit
): Edit {
  const plain = withoutMark(text);
  const mark = text.slice(0, text.length - plain.length);
  try {
    const edit = work(plain, format.read(plain));
    return 'change' in edit && edit.text !== undefined
      ? { ...edit, text: `${mark}${edit.text}` }
      : edit;
  } catch (error) {
    return byHand(messageOf(error));
  }
}

function withoutMark(text: string): string {
  return text.replace(/^\uFEFF/, '');
}

/** Whether a file says all that another does, and has the entry besides. */
function says(
  format: EntryFormat,
  text: string,
  entry: Entry,
  before: string
): boolean {
  const isSame = safely(() => {
    const there = JSON.stringify(format.read(text));
    const [now, then] = [text, before].map((one) =>
      withoutOurs(format.parse(one), format.key)
    );
    return there === JSON.stringify(entry) && isDeepStrictEqual(now, then);
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
