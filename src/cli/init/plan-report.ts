import { linkOf, shortPath } from '../clients/settings-file.ts';
import type { InitDocument } from '../json/setup-documents.ts';
import type { SetUpContext, SetUpFlags } from './dialog.ts';
import type { Finished } from './finish.ts';
import type { ClientPlan, Plan } from './plan.ts';

/** Whether the user has to edit the file. */
export function needsHand({ edit }: Plan, { remove }: SetUpFlags): boolean {
  if ('problem' in edit) return true;
  return 'stays' in edit && edit.stays === 'foreign' && !remove;
}

/**
 * Shows the change of a file as removed and added lines, or why the file
 * stays as it is.
 */
export async function showPlan(
  plan: Plan,
  { workspace, flags, screen }: SetUpContext
): Promise<void> {
  const { label, file, before, edit } = plan;
  const path = shortPath(file, workspace);
  if ('stays' in edit) {
    screen.report(`${label}: ${staying[edit.stays]} in ${path}`);
    if (needsHand(plan, flags))
      screen.warn(
        `${label}: remove that entry or give it another name, then call this again.`
      );
    return;
  }
  if ('problem' in edit) {
    const step = flags.remove ? 'take it out by hand.' : 'put this in by hand:';
    screen.warn(`${path} ${edit.problem}, so it stays as it is: ${step}`);
    if (edit.entry) await screen.show('', [edit.entry.trimEnd()]);
    return;
  }
  const lines = lineDiff(before ?? '', edit.text ?? '');
  const ends = edit.text === undefined ? ' (the file is deleted)' : '';
  await screen.show(`${label}: ${path}${linkOf(file)}${ends}`, lines);
}

const staying = {
  ours: 'troupe is there, and stays as it is,',
  foreign: 'an entry "agents" that does not start troupe stays as it is',
  absent: 'there is no entry of troupe'
};

/** The document of `init --json`. */
export function reportOf(
  workspace: string,
  plans: ClientPlan[],
  {
    access,
    extras
  }: Partial<Record<'access' | 'extras', Plan | undefined>> = {},
  written: string[] = [],
  finished?: Finished
): InitDocument {
  return {
    workspace,
    clients: plans.map((plan) => ({
      name: plan.client.name,
      label: plan.label,
      found: plan.trace ?? null,
      ...fileOf(plan, written),
      check: checkOf(finished?.checks.get(plan.client.name))
    })),
    access: access ? fileOf(access, written) : null,
    claude_settings: extras ? fileOf(extras, written) : null,
    first_task: finished?.first ?? null
  };
}

function fileOf({ file, edit }: Plan, written: string[]) {
  return {
    file,
    state: 'stays' in edit ? edit.stays : null,
    change: 'change' in edit ? edit.change : null,
    problem: 'problem' in edit ? edit.problem : null,
    written: written.includes(file)
  };
}

function checkOf(check: ReturnType<Finished['checks']['get']>) {
  if (!check) return null;
  const { ok } = check;
  return check.ok
    ? { ...check, problem: null, next: null }
    : {
        ok,
        milliseconds: null,
        tools: [],
        problem: check.problem,
        next: check.next
      };
}

/** Unchanged lines shown before and after a change. */
const contextLines = 2;
/** In characters. A longer line is cut to the text around the change. */
const longestLine = 300;
const contextChars = 60;

/** The lines that one contiguous change removes (-) and adds (+). */
export function lineDiff(before: string, after: string): string[] {
  const old = linesOf(before);
  const now = linesOf(after);
  const { head, tail } = commonEnds(old, now);
  const end = old.length - tail;
  const [removed, added] = shortened(
    old.slice(head, end),
    now.slice(head, now.length - tail)
  );
  const same = (line: string) =>
    line.length > longestLine
      ? `  ${line.slice(0, contextChars)}…`
      : `  ${line}`;
  return [
    ...old.slice(Math.max(0, head - contextLines), head).map(same),
    ...removed.map((line) => `- ${line}`),
    ...added.map((line) => `+ ${line}`),
    ...old.slice(end, end + contextLines).map(same)
  ];
}

/** Cuts long lines: some programs keep their whole file on one line. */
function shortened(old: string[], now: string[]): [string[], string[]] {
  if (![...old, ...now].some((line) => line.length > longestLine))
    return [old, now];
  const [before, after] = [old.join('\n'), now.join('\n')];
  const { head, tail } = commonEnds(before, after);
  const from = Math.max(0, head - contextChars);
  const cut = (text: string) => {
    const to = text.length - Math.max(0, tail - contextChars);
    const lead = from > 0 ? '…' : '';
    return `${lead}${text.slice(from, to)}${to < text.length ? '…' : ''}`;
  };
  return [linesOf(cut(before)), linesOf(cut(after))];
}

/**
 * The lengths of the common prefix and the common suffix of two lists of
 * lines, or of two strings.
 */
function commonEnds(old: ArrayLike<string>, now: ArrayLike<string>) {
  const most = Math.min(old.length, now.length);
  let head = 0;
  while (head < most && old[head] === now[head]) head += 1;
  let tail = 0;
  while (
    tail < most - head &&
    old[old.length - 1 - tail] === now[now.length - 1 - tail]
  )
    tail += 1;
  return { head, tail };
}

function linesOf(text: string): string[] {
  if (text === '') return [];
  return text.replace(/\r?\n$/, '').split(/\r?\n/);
}
