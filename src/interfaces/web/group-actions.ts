import { Council } from '../../core/council/council.ts';
import { wasReplaced } from '../../core/council/errors.ts';
import { personName } from '../../core/council/person.ts';
import { errnoOf, HostError, messageOf } from '../../core/errors.ts';
import { capped } from '../../core/runs/start/new-record.ts';
import type { Host } from '../../host/host.ts';
import { logProblem } from '../../host/log.ts';
import { bodyFor, fromPage, pageClient } from './actions.ts';

/**
 * Gives a worker a task. The page makes the ids of its tasks: one that the
 * worker has had is the same task, sent again.
 * @throws HostError as `Orchestrator.enqueue`, and `not_yours`
 */
export async function sendTask(host: Host, id: string, body: unknown) {
  const { task_id: requested, text } = bodyFor('task', body);
  await host.refreshConfig();
  const { access } = host.orchestrator.store.get(id).meta;
  const { maxAccess } = host.config;
  if (capped(access, maxAccess) !== access)
    throw new HostError(
      'not_yours',
      `Worker ${id} has ${access} access, and the configuration allows ${maxAccess}.`,
      'Start troupe web with a higher --max-access, or use another worker.'
    );
  const task = { id: requested, payload: text };
  const sent = await host.orchestrator.enqueue(id, task).catch(orKnown);
  if (!sent) return { task_id: requested, position: null };
  const { position } = sent;
  const noted = note(host, id, 'task_sent', `${requested}: ${text}`);
  return { task_id: requested, position, ...noted };
}

function orKnown(error: unknown): undefined {
  const isKnown = error instanceof HostError && error.code === 'task_exists';
  if (!isKnown) throw error;
}

/** @throws HostError as `Orchestrator.cancel` */
export async function cancelTask(host: Host, id: string, body: unknown) {
  const { task_id: taskId } = bodyFor('cancelTask', body);
  const state = await host.orchestrator.cancel(id, taskId);
  const noted = note(host, id, 'task_cancel_requested', taskId);
  return { task_id: taskId, state, ...noted };
}

/** @throws HostError as `Orchestrator.delete` */
export async function stopWorker(host: Host, id: string, body: unknown) {
  const { force } = bodyFor('stop', body);
  // The page has asked the person already.
  const how = { force, confirm: force };
  const { isOver, state } = host.orchestrator.store.get(id).log.read();
  const isStopping = isOver || (state.stopAfter !== null && !force);
  const worker = await host.orchestrator.delete(id, how);
  const what = force ? 'at once' : 'after its tasks';
  const noted = isStopping ? {} : note(host, id, 'stop_requested', what);
  return { agent_id: id, status: worker.log.read().status, ...noted };
}

/**
 * Records a response of the person who uses the page.
 * @throws HostError as `Council.send`, and `not_yours`
 */
export async function respond(host: Host, body: unknown) {
  const parsed = bodyFor('response', body);
  const { session_id: asked, request_id: responseId, content } = parsed;
  const { parent, depth } = host.origin;
  if (parent !== null || depth > 0)
    throw new HostError(
      'not_yours',
      'An agent has started this page, so that nothing in it counts as of a person.',
      'Start troupe web in a terminal.'
    );
  const { councilStore: store, processes: witnesses } = host;
  const council = new Council({ store, witnesses, isForPerson: true });
  await council.join(personName, (view) => {
    // The person has read the request of another council.
    if (view.session.id !== asked)
      throw wasReplaced(personName, { session_id: asked }, view.session);
    return { answer: undefined, cursor: null };
  });
  const { agentName, response, isKnown } = await council.send(
    personName,
    content,
    responseId
  );
  const noted = isKnown ? {} : note(host, '', 'responded', content);
  return { agent_name: agentName, response_id: response.id, ...noted };
}

/** @throws HostError as `Host.summon` */
export async function summonAgent(host: Host, body: unknown) {
  const { session_id: sessionId, engine, model } = bodyFor('summon', body);
  await host.refreshConfig();
  const { agentId, agentName, status, failure } = await host.summon({
    engine,
    model,
    sessionId,
    caller: { client: pageClient }
  });
  return {
    agent_id: agentId,
    agent_name: agentName,
    status,
    error: failure?.message ?? null
  };
}

type Action = Parameters<Host['journal']['append']>[0] & { type: 'acted' };

/**
 * Journals what was done. It cannot be undone, so that an error becomes part
 * of the answer.
 */
function note(
  { journal }: Host,
  agent_id: string,
  action: Action['action'],
  what: string
): { warning?: string } {
  try {
    journal.append({ type: 'acted', agent_id, action, what, who: fromPage });
    return {};
  } catch (problem) {
    logProblem(problem);
    const why = errnoOf(problem) ?? messageOf(problem);
    return {
      warning: `This is done, but the journal lacks it: ${journal.path} cannot be written (${why}).`
    };
  }
}
