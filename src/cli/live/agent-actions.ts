import type { Worker } from '../../core/orchestrator/queue/worker-store.ts';
import { terminalLine } from '../../core/text.ts';
import type { Host } from '../../host/host.ts';
import {
  isWorker,
  type WatchedAgent
} from '../../interfaces/board/watched-agent.ts';
import { shorten } from '../output/text.ts';

/** A question to the user, and the call that cancels after a yes. */
export interface Cancellation {
  question: string;
  /** Resolves to a sentence about the result. */
  perform: () => Promise<string>;
}

const taskWidth = 30;

/** For an agent or a worker's task; a text if there is nothing to cancel. */
export function cancellationOf(
  host: Host,
  { id, of, isActive, task, state }: WatchedAgent
): Cancellation | string {
  if (isWorker(of)) return taskCancellation(host, of);
  if (!isActive) return `${id} has ended already (${state}).`;
  return {
    question: `Cancel ${id} (${shorten(task, taskWidth)})?`,
    perform: async () => {
      const run = await host.cancel(id, undefined, 'from troupe watch');
      return run ? `${id} is ${run.status}.` : `${id} no longer exists.`;
    }
  };
}

function taskCancellation(
  { orchestrator }: Host,
  { meta, log }: Worker
): Cancellation | string {
  const name = terminalLine(meta.name);
  const { running } = log.read();
  if (!running)
    return `Worker ${name} has no task to cancel; the tool agent_delete ends a worker.`;
  const task = terminalLine(running.id);
  return {
    question: `Cancel task ${task} of worker ${name}?`,
    perform: async () => {
      await orchestrator.cancel(meta.agent_id, running.id);
      return `Worker ${name} was asked to give up task ${task}.`;
    }
  };
}

/** Why an agent gets no reply; undefined for one that can be continued. */
export function whyNoReply({
  id,
  of,
  isActive,
  state
}: WatchedAgent): string | undefined {
  if (isWorker(of))
    return 'A worker takes tasks, not replies; the tool task_enqueue adds a task.';
  if (isActive) return `${id} is ${state}; reply when it has ended.`;
  return undefined;
}
