import { Council } from '../../core/council/council.ts';
import { wasReplaced } from '../../core/council/errors.ts';
import { personName } from '../../core/council/person.ts';
import { HostError } from '../../core/errors.ts';
import { capped } from '../../core/runs/start/new-record.ts';
import type { Host } from '../../host/host.ts';
import { bodyFor, fromPage, pageClient } from './actions.ts';

/** @throws HostError as `Orchestrator.enqueue`, and `not_yours` */
export async function sendTask(host: Host, id: string, body: unknown) {
  const { task_id: requested, text } = bodyFor('task', body);
  const { access } = host.orchestrator.store.get(id).meta;
  const { maxAccess } = host.config;
  if (capped(access, maxAccess) !== access)
    throw new HostError(
      'not_yours',
      `Worker ${id} has ${access} access, and the configuration allows ${maxAccess}.`,
      'Start troupe web with a higher --max-access, or use another worker.'
    );
  const task = { id: requested, payload: text };
  const { taskId, position } = await host.orchestrator.enqueue(id, task);
  note(host, id, 'task_sent', `${taskId}: ${text}`);
  return { task_id: taskId, position };
}

/** @throws HostError as `Orchestrator.cancel` */
export async function cancelTask(host: Host, id: string, body: unknown) {
  const { task_id: taskId } = bodyFor('cancelTask', body);
  const state = await host.orchestrator.cancel(id, taskId);
  note(host, id, 'task_cancel_requested', taskId);
  return { task_id: taskId, state };
}

/** @throws HostError as `Orchestrator.delete` */
export async function stopWorker(host: Host, id: string, body: unknown) {
  const { force } = bodyFor('stop', body);
  // The page has asked the person already.
  const how = { force, confirm: force };
  const worker = await host.orchestrator.delete(id, how);
  note(host, id, 'stop_requested', force ? 'at once' : 'after its tasks');
  return { agent_id: id, status: worker.log.read().status };
}

/**
 * Records a response of the person who uses the page.
 * @throws HostError as `Council.send`, and `not_yours`
 */
export async function respond(host: Host, body: unknown) {
  const { session_id: asked, content } = bodyFor('response', body);
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
  const { agentName, response } = await council.send(personName, content);
  note(host, '', 'responded', content);
  return { agent_name: agentName, response_id: response.id };
}

/** @throws HostError as `Host.summon` */
export async function summonAgent(host: Host, body: unknown) {
  const { engine, model } = bodyFor('summon', body);
  await host.refreshConfig();
  const { agentId, agentName, status, failure } = await host.summon({
    engine,
    model,
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

function note(
  { journal }: Host,
  agent_id: string,
  action: Action['action'],
  what: string
): void {
  journal.append({ type: 'acted', agent_id, action, what, who: fromPage });
}
