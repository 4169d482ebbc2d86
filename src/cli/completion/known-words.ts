import { builtinEngines, optionalEngines } from '../../../plugins/index.ts';
import { JournalFiles } from '../../core/audit/journal-files.ts';
import { pathsOf } from '../../core/paths/paths.ts';
import { leadsOut } from '../../core/runs/containment.ts';
import { lastEnded } from '../../core/runs/recent.ts';
import { RunStore } from '../../core/runs/run-store.ts';
import { namesIn } from '../../core/state/directories.ts';
import { roleDirectoriesOf } from '../../squad-config.ts';
import { oneLine, shorten } from '../text.ts';

/** A word, and what it stands for, for shells that show that. */
export interface Candidate {
  word: string;
  about?: string;
}

/** So many that ended last are worth telling. */
const mostEnded = 40;
const aboutColumns = 60;

/** Engines that come with troupe: to load others would take too long. */
export function engineWords(): Candidate[] {
  return [...builtinEngines, ...optionalEngines].map(
    ({ name, description }) => ({ word: name, about: brief(description) })
  );
}

/** Ids of agents, those at work first, then those that ended last. */
export function agentWords(
  workspace: string,
  which: 'all' | 'at work' | 'ended'
): Candidate[] {
  const paths = pathsOf(workspace);
  const store = new RunStore(paths.record);
  const journal = new JournalFiles(paths.journal);
  const open = store.openIds().filter((id) => !store.hasOutcome(id));
  const ended = () => lastEnded(journal, store, mostEnded).reverse();
  const ids = [
    ...(which === 'ended' ? [] : open),
    ...(which === 'at work' ? [] : ended())
  ];
  return [...new Set(ids)].flatMap((word) => {
    const record = store.recordOf(word);
    if (!record) return [];
    return [{ word, about: brief(`${record.engine}: ${record.task}`) }];
  });
}

export function roleWords(workspace: string): Candidate[] {
  const { builtin, own, within } = roleDirectoriesOf(workspace, undefined);
  const directories = leadsOut(within, own) ? [builtin] : [own, builtin];
  const ids = directories.flatMap((directory) =>
    namesIn(directory).flatMap((name) =>
      name.endsWith('.md') ? [name.slice(0, -'.md'.length)] : []
    )
  );
  return [...new Set(ids)].sort().map((word) => ({ word }));
}

export function brief(text: string): string {
  return shorten(oneLine(text), aboutColumns);
}
