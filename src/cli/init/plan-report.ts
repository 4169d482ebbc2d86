import { lineDiff } from '../line-diff.ts';
import type { Plan } from './plan.ts';
import type { Screen } from './screen.ts';
import { linkOf, shortPath } from './settings-file.ts';

/** Whether something is left that only the person can do. */
export function needsHand({ edit }: Plan, isRemoval: boolean): boolean {
  if ('problem' in edit) return true;
  return 'stays' in edit && edit.stays === 'foreign' && !isRemoval;
}

/** What becomes of a file, as lines that go and come. */
export async function showPlan(
  screen: Screen,
  { label, file, before, edit }: Plan,
  isRemoval: boolean,
  workspace: string
): Promise<void> {
  const path = shortPath(file, workspace);
  if ('stays' in edit) {
    screen.tell(`${label}: ${staying[edit.stays]} in ${path}`);
    if (edit.stays === 'foreign' && !isRemoval)
      screen.warn(
        `${label}: remove that entry or give it another name, then call this again.`
      );
    return;
  }
  if ('problem' in edit) {
    const what = isRemoval ? 'take it out by hand.' : 'put this in by hand:';
    screen.warn(`${path} ${edit.problem}, so it stays as it is: ${what}`);
    if (edit.entry) await screen.show('', [edit.entry.trimEnd()]);
    return;
  }
  const lines = lineDiff(before ?? '', edit.text ?? '');
  const ends = edit.text === undefined ? ' (the file goes)' : '';
  await screen.show(`${label}: ${path}${linkOf(file)}${ends}`, lines);
}

const staying = {
  ours: 'troupe is there, and stays as it is,',
  foreign: 'an entry "agents" that does not start troupe stays as it is',
  absent: 'there is no entry of troupe'
};
