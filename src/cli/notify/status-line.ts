import { existsSync, realpathSync } from 'node:fs';
import { thisProcess } from '../../adapters/child-process/process-table.ts';
import { liveness } from '../../adapters/child-process/processes.ts';
import { isObject } from '../../config/overrides.ts';
import { JournalFiles } from '../../core/audit/journal/journal-files.ts';
import type { FinishedRecord } from '../../core/audit/journal/journal-record.ts';
import { endsBack } from '../../core/audit/journal/recently-ended.ts';
import { type Paths, pathsOf } from '../../core/paths/paths.ts';
import { recordIdOf } from '../../core/paths/records.ts';
import { checkHomeOutside } from '../../core/paths/troupe-home.ts';
import type { ProcessIdentity } from '../../core/processes/process-identity.ts';
import { parseJson, wasRead } from '../../core/runs/run-files.ts';
import { liveStateOf, statusOf } from '../../core/runs/run-state.ts';
import { RunStore } from '../../core/runs/run-store.ts';
import { counted } from '../output/text.ts';

const dayMs = 86_400_000;

/**
 * `2 agents, 1 unread, $0.12`: the agents at work in a workspace, and of those
 * that ended in the last 24 hours, the unread ones and the known cost of all.
 * '' when none is at work or unread. It relies on the record alone: no
 * configuration or plugin is loaded, and nothing is written.
 * @param input the JSON that Claude Code writes to the command of a status line
 */
export function statusLine(input: string, now = Date.now()): string {
  const paths = pathsIn(input);
  if (!paths) return '';
  const store = new RunStore(paths.record);
  const since = new Date(now - dayMs).toISOString();
  const ended = endedSince(since, new JournalFiles(paths.journal));
  const open = store.markedIds();
  const self = thisProcess();
  const running = open.filter((id) => isAtWork(id, store, self));
  const over = new Set([...ended.map(({ agent_id: id }) => id), ...open]);
  for (const id of running) over.delete(id);
  const unread = [...over].filter(
    (id) => store.has(id) && !wasRead(store.directoryOf(id))
  );
  if (running.length + unread.length === 0) return '';
  const cost = ended.reduce((sum, { cost_usd: usd }) => sum + (usd ?? 0), 0);
  return [
    ...(running.length > 0 ? [counted(running.length, 'agent')] : []),
    ...(unread.length > 0 ? [`${unread.length} unread`] : []),
    ...(cost >= 0.005 ? [`$${cost.toFixed(2)}`] : [])
  ].join(', ');
}

/** The first of the directories in the input that has a record. */
function pathsIn(input: string): Paths | undefined {
  const facts = parseJson(input);
  const { cwd, workspace } = isObject(facts) ? facts : {};
  const { project_dir, current_dir } = isObject(workspace) ? workspace : {};
  const named = [project_dir, current_dir, cwd].filter(
    (path) => typeof path === 'string'
  );
  for (const path of named.length > 0 ? named : [process.cwd()]) {
    if (!existsSync(path)) continue;
    const paths = pathsOf(realpathSync(path));
    checkHomeOutside(paths.workspace, paths.home);
    if (recordIdOf(paths) !== undefined) return paths;
  }
  return undefined;
}

/** Queued or running; false for a run that has ended, recorded or not. */
function isAtWork(id: string, store: RunStore, self: ProcessIdentity): boolean {
  const record = store.hasOutcome(id) ? undefined : store.recordOf(id);
  if (!record) return false;
  const state = liveStateOf(record, store.directoryOf(id), {
    self,
    liveness: (one) => liveness(one, self)
  });
  return statusOf(state) !== 'ended';
}

/** Ends since a time, newest first; skips an old one that was recorded late. */
function endedSince(since: string, files: JournalFiles): FinishedRecord[] {
  const ended: FinishedRecord[] = [];
  for (const record of endsBack(files)) {
    if (record.completed_at >= since) ended.push(record);
    else if (record.at < since) break;
  }
  return ended;
}
