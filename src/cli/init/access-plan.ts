import { basename, join } from 'node:path';
import { trustCheckOf } from '../../config.ts';
import { isObject } from '../../config-overrides.ts';
import { messageOf } from '../../core/errors.ts';
import type { Access } from '../../plugin.ts';
import { putIn, rootOf } from './json-format.ts';
import { withProperty } from './json-property.ts';
import type { Plan } from './plan.ts';
import { isReadOnly, settingsIn } from './settings-file.ts';

/** What agents may do at each level, in one line. */
export const accessLevels: { level: Access; means: string }[] = [
  { level: 'write', means: 'read, and change files of this project' },
  { level: 'read', means: 'look at this project, and change nothing' },
  { level: 'full', means: 'anything you may do yourself, commands included' }
];

/** The configuration as it is written; code is run where it is trusted. */
export async function configHere(
  workspace: string
): Promise<{ file: string | undefined; value: unknown }> {
  const check = trustCheckOf(workspace);
  const { file, value } = await check.read(undefined);
  if (file !== undefined) return { file, value };
  const code = check.result().leftOut.find(({ path }) => path === undefined);
  return { file: code?.files[0], value: undefined };
}

/** The ceiling that the configuration of a workspace sets, if it does. */
export async function ceilingOf(workspace: string): Promise<unknown> {
  const { value } = await configHere(workspace);
  return isObject(value) ? value.maxAccess : undefined;
}

/**
 * How the configuration comes to say what agents may do at most; undefined
 * when it says so already.
 */
export async function planAccess(
  workspace: string,
  level: Access
): Promise<Plan | undefined> {
  const { file = join(workspace, 'troupe.config.json'), value } =
    await configHere(workspace);
  const now = isObject(value) ? value.maxAccess : undefined;
  if (now === level || (now === undefined && level === 'full'))
    return undefined;
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
    const mark = /^\uFEFF/.exec(before ?? '')?.[0] ?? '';
    const plain = before?.slice(mark.length);
    const text = `${mark}${await withAccess(plain, file, level)}`;
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
    ? putIn(text, old, JSON.stringify(level))
    : withProperty(text, object, { name, value: level });
}
