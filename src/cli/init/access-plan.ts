import { basename, join } from 'node:path';
import { trustCheckOf } from '../../config/config.ts';
import { isObject } from '../../config/overrides.ts';
import { messageOf } from '../../core/errors.ts';
import type { Access } from '../../plugin/plugin.ts';
import { entryIn } from '../clients/client-entry.ts';
import { replaceNode, rootOf, withProperty } from '../clients/json-format.ts';
import { isReadOnly, settingsIn } from '../clients/settings-file.ts';
import type { ClientPlan, Plan } from './plan.ts';

/** The access levels that `init` offers, each with the text that it shows. */
export const accessLevels: { level: Access; means: string }[] = [
  { level: 'write', means: 'read, and change files of this project' },
  { level: 'read', means: 'look at this project, and change nothing' },
  { level: 'full', means: 'do anything you may do, commands included' }
];

/** Says in one line what the files allow once they are written. */
export async function grantsLine(
  plans: ClientPlan[],
  ceiling: unknown,
  isForUser = false
): Promise<string> {
  const { means } = accessLevels.find(
    ({ level }) => level === (ceiling ?? 'full')
  ) ?? { means: 'do what the server allows' };
  const from =
    ceiling === undefined
      ? 'maxAccess is not set'
      : `maxAccess ${JSON.stringify(ceiling)}`;
  const asking = await Promise.all(
    plans.map(async ({ client, before, edit }) => {
      const text = 'change' in edit ? edit.text : before;
      const entry = await entryIn(text, client);
      return entry && client.grants ? [client.grants(entry)] : [];
    })
  );
  const agents = `Agents may ${means} (${from})`;
  const elsewhere = isForUser
    ? ['In a project without maxAccess they may do anything you may do']
    : [];
  return `${[agents, ...elsewhere, ...asking.flat()].join('. ')}.`;
}

/**
 * Returns the configuration file of a workspace and its `maxAccess`. A
 * configuration that is code runs only in a trusted workspace; in another one
 * `ceiling` is undefined.
 */
export async function ceilingIn(
  workspace: string
): Promise<{ file: string | undefined; ceiling?: unknown }> {
  const check = trustCheckOf(workspace);
  const { file, value } = await check.read(undefined);
  if (file !== undefined)
    return { file, ceiling: isObject(value) ? value.maxAccess : undefined };
  const code = check.result().leftOut.find(({ path }) => path === undefined);
  return { file: code?.files[0] };
}

/** The ceiling that `init` sets unless the user chooses another one. */
export const usualLevel: Access = 'write';

/**
 * Plans to write `maxAccess` to the configuration. Returns undefined when it
 * has that level. `full` is written, too: the next `init` keeps it.
 */
export async function planAccess(
  workspace: string,
  level: Access
): Promise<Plan | undefined> {
  const { file = join(workspace, 'troupe.config.json'), ceiling } =
    await ceilingIn(workspace);
  if (ceiling === level) return undefined;
  const label = `Ceiling for every agent, "${level}"`;
  const byHand = (problem: string): Plan => ({
    label,
    file,
    before: undefined,
    edit: { problem, entry: `"maxAccess": "${level}"\n` }
  });
  if (!/(^\.trouperc|\.json)$/.test(basename(file)))
    return byHand('is no JSON');
  try {
    const before = settingsIn(file, workspace);
    if (isReadOnly(file)) return byHand('is read-only');
    const bom = /^\uFEFF/.exec(before ?? '')?.[0] ?? '';
    const plain = before?.slice(bom.length);
    const text = `${bom}${await withAccess(plain, file, level)}`;
    return { label, file, before, edit: { change: 'add', text } };
  } catch (error) {
    return byHand(messageOf(error));
  }
}

async function withAccess(
  text: string | undefined,
  file: string,
  level: Access
): Promise<string> {
  const name = 'maxAccess';
  if (text === undefined || text.trim() === '')
    return `${JSON.stringify({ [name]: level }, null, 2)}\n`;
  const jsonc = await import('jsonc-parser');
  const root = rootOf(jsonc, text);
  const path = basename(file) === 'package.json' ? ['troupe'] : [];
  const object = jsonc.findNodeAtLocation(root, path);
  if (object?.type !== 'object') throw new Error('is not a JSON object');
  const old = jsonc.findNodeAtLocation(object, [name]);
  return old
    ? replaceNode(text, old, JSON.stringify(level))
    : withProperty(text, object, { name, value: level });
}
