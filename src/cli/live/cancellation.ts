import type { Worker } from '../../core/orchestrator/worker-store.ts';
import type { Host } from '../../host.ts';
import { oneLine, shorten } from '../text.ts';
import { isWorker, type WatchedAgent } from './watched-agent.ts';

/** What is asked before something is canceled, and what does it. */
export interface Cancellation {
  question: string;
  /** Gives a sentence about what came of it. */
  perform: () => Promise<string>;
}

const taskWidth = 30;

/** For an agent, or the task of a worker; a sentence where there is none. */
export function cancellationOf(
  host: Host,
  { id, of, isActive, task, state }: WatchedAgent
): Cancellation | string {
  if (isWorker(of)) return taskCancellation(host, of);
  if (!isActive) return `${id} has ended already (${state}).`;
  return {
    question: `Cancel ${id} (${shorten(task, taskWidth)})?`,
    perform: async () => {
      const run = await host.cancel(id, 'from troupe watch');
      return run ? `${id} is ${run.status}.` : `${id} is not there any more.`;
    }
  };
}

function taskCancellation(
  { orchestrator }: Host,
  { meta, log }: Worker
): Cancellation | string {
  const name = oneLine(meta.name);
  const { running } = log.read();
  if (!running)
    return `Worker ${name} has no task to cancel; the tool agent_delete ends a worker.`;
  const task = oneLine(running.id);
  return {
    question: `Cancel task ${task} of worker ${name}?`,
    perform: async () => {
      await orchestrator.cancel(meta.agent_id, running.id);
      return `Worker ${name} was asked to give up task ${task}.`;
    }
  };
}
