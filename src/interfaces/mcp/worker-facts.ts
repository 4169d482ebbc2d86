import type { Task } from '../../core/orchestrator/task-queue.ts';
import type { Worker } from '../../core/orchestrator/worker-store.ts';
import type { Facts } from '../../core/runs/fit.ts';

/** Of a brief, in a list. */
const lineChars = 80;
/** Of a brief, where one worker is told of. */
const roleChars = 2000;
/** For the names of tasks: as many of the first as have room. */
const tasksBytes = 3000;

/** What clients are told of a worker. */
export function workerFacts(
  { meta, log, folder }: Worker,
  short = false
): Facts {
  const queue = log.read();
  const { running } = queue;
  const facts = {
    agent_id: meta.agent_id,
    name: meta.name,
    role: short ? beginning(meta.role) : upTo(roleChars, meta.role),
    engine: meta.engine,
    status: queue.status,
    tmux_pane_id: queue.isOver ? null : (meta.pane?.pane_id ?? null),
    queue_depth: queue.depth,
    running_task_id: running?.id ?? null,
    last_event_seq: queue.state.eventSeq,
    run_id: meta.run_id
  };
  if (short) return facts;
  const waiting = queue.tasks.filter((task) => task !== running);
  return {
    ...facts,
    ...(meta.role.length > roleChars
      ? {
          truncated: true,
          total_chars: meta.role.length,
          full_output: folder.meta
        }
      : {}),
    ...(running?.isCancelWanted ? { cancel_requested: true } : {}),
    ...(queue.state.stopAfter === null ? {} : { stop_requested: true }),
    model: meta.model,
    access: meta.access,
    cwd: meta.cwd,
    backend: meta.backend,
    created_at: meta.created_at,
    restarts: queue.state.generation - 1,
    queued_task_ids: firstIds(waiting),
    paths: folder.paths()
  };
}

function firstIds(tasks: Task[]): string[] {
  const ids: string[] = [];
  let room = tasksBytes;
  for (const { id } of tasks) {
    room -= Buffer.byteLength(JSON.stringify(id)) + 1;
    if (room < 0) break;
    ids.push(id);
  }
  return ids;
}

function beginning(text: string): string {
  const [line = ''] = text.trim().split('\n');
  return line.length > lineChars ? `${upTo(lineChars, line)}…` : line;
}

/** Never ends amid a surrogate pair. */
function upTo(chars: number, text: string): string {
  return text.slice(0, chars).replace(/[\ud800-\udbff]$/, '');
}
