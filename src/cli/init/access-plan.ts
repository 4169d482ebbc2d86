import { basename, join } from 'node:path';
import { trustCheckOf } from '../../config/config.ts';
import { isObject } from '../../config/overrides.ts';
import { messageOf } from '../../core/errors.ts';
import type { Access } from '../../plugin/plugin.ts';
import { replaceNode, rootOf, withProperty } from '../clients/json-format.ts';
import { isReadOnly, settingsIn } from '../clients/settings-file.ts';
import type { Plan } from './plan.ts';

/** The access levels that `init` offers, each with the text that it shows. */
export const accessLevels: { level: Access; means: string }[] = [
  { level: 'write', means: 'read, and change files of this project' },
  { level: 'read', means: 'look at this project, and change nothing' },
  { level: 'full', means: 'anything you may do yourself, commands included' }
];

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

/**
 * Plans to write `maxAccess` to the configuration. Returns undefined when the
 * level already applies; the default is `full`.
 */
export async function planAccess(
  workspace: string,
  level: Access
): Promise<Plan | undefined> {
  const { file = join(workspace, 'troupe.config.json'), ceiling = 'full' } =
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
  if (object?.type !== 'object') throw new Error('is no JSON object');
  const old = jsonc.findNodeAtLocation(object, [name]);
  return old
    ? replaceNode(text, old, JSON.stringify(level))
    : withProperty(text, object, { name, value: level });
}
