import { lstatSync } from 'node:fs';
import { dirname, join, relative, sep } from 'node:path';
import { topOf } from '../../adapters/git/repository-location.ts';
import { messageOf } from '../../core/errors.ts';
import { isInside } from '../../core/paths/troupe-home.ts';
import { settingsIn, shortPath } from '../clients/settings-file.ts';
import { troupeLaunch } from '../clients/troupe-launch.ts';
import { type ClientPlan, hasEntry, type Plan } from './plan.ts';

/** Precedes each line of ours. */
const mark = '# troupe init';

/**
 * Plans to keep files that `init` makes out of git, or to stop that with
 * --remove: their entries hold a path of this machine.
 */
export function planExclude(
  plans: Plan[],
  workspace: string
): Plan | undefined {
  const top = topOf(workspace);
  if (top === undefined) return undefined;
  const file = join(top, '.git', 'info', 'exclude');
  const folders = [dirname(file), dirname(dirname(file))];
  // A `.git` that is a file or a link leads elsewhere.
  const isOurs =
    folders.every((path) => isPlain(path, 'folder')) && isPlain(file, 'file');
  if (!isOurs) return undefined;
  const label = 'Kept out of git, since they hold a path of this machine';
  const inside = plans.filter((plan) => isInside(workspace, plan.file));
  const linesOf = (plan: Plan) => `${mark}\n${patternOf(plan.file, top)}\n`;
  let before: string | undefined;
  try {
    before = settingsIn(file, workspace);
  } catch (error) {
    const entry = inside.filter(isOwn).map(linesOf).join('');
    if (entry === '') return undefined;
    const edit = { problem: messageOf(error), entry };
    return { label, file, before: undefined, edit };
  }
  const text = inside.reduce((now, plan) => {
    const lines = linesOf(plan);
    const { edit } = plan;
    const change = 'change' in edit ? edit.change : undefined;
    if (change === 'remove') return now.replace(lines, '');
    return isOwn(plan) && !now.includes(lines)
      ? `${now}${now === '' || now.endsWith('\n') ? '' : '\n'}${lines}`
      : now;
  }, before ?? '');
  if (text === (before ?? '')) return undefined;
  return { label, file, before, edit: { change: 'update', text } };
}

/** Says in one line what to commit; undefined outside of a repository. */
export function commitLine(
  plans: ClientPlan[],
  workspace: string
): string | undefined {
  if (topOf(workspace) === undefined || isPortable()) return undefined;
  const files = plans
    .filter((plan) => hasEntry(plan.edit) && isInside(workspace, plan.file))
    .map(({ file }) => shortPath(file, workspace));
  if (files.length === 0) return undefined;
  const hold = files.length === 1 ? 'it holds' : 'they hold';
  return `Do not commit our entry in ${files.join(', ')}: ${hold} a path of this machine. troupe.config.json may be committed.`;
}

/** Whether `init` makes the whole file. */
function isOwn({ edit, before }: Plan): boolean {
  const isAdded = 'change' in edit && edit.change === 'add';
  return isAdded && before === undefined && !isPortable();
}

/** A package of the registry is started by its name. */
function isPortable(): boolean {
  return troupeLaunch().command === 'npx';
}

function isPlain(path: string, kind: 'file' | 'folder'): boolean {
  const entry = lstatSync(path, { throwIfNoEntry: false });
  if (!entry) return true;
  return kind === 'file' ? entry.isFile() : entry.isDirectory();
}

function patternOf(file: string, top: string): string {
  const path = relative(top, file).split(sep).join('/');
  return `/${path.replace(/[\\*?[\]]/g, '\\$&')}`;
}
