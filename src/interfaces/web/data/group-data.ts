import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { withAsking } from '../../../answers/asks.ts';
import { requestOf, responsesOf } from '../../../core/council/state.ts';
import { readyEngineNames } from '../../../core/engines/api/api-keys.ts';
import { errnoOf } from '../../../core/errors.ts';
import type { Worker } from '../../../core/orchestrator/queue/worker-store.ts';
import { SquadStore } from '../../../core/squads/squad-store.ts';
import {
  grouped,
  shortName,
  terminalLine,
  visibleText
} from '../../../core/text.ts';
import type { Host } from '../../../host/host.ts';
import { listedWorkers, workerJson } from '../../board/listed-workers.ts';
import { watchedRun } from '../../board/watched-agent.ts';
import { boardRow } from '../live/board-rows.ts';
import { readPart } from './text-part.ts';

const mostSquads = 30;
const mostWorkers = 100;
const mostTasks = 100;
const mostResponses = 200;
const mostEvents = 50;
/** The most characters of a text of the council. */
const mostChars = 20_000;
const mostEventChars = 2000;

/** The newest squads, each with its members in the order of the request. */
export async function squadsData(host: Host) {
  const squads = new SquadStore(host.paths.record);
  const newest = squadIds(join(host.paths.record, 'squads'));
  const rows = newest.slice(0, mostSquads).map(async (squadId) => {
    const squad = squads.find(squadId);
    if (!squad) return [];
    const members = squad.members.map(async (member) => {
      const run = await host.tracker.run(member.agentId).catch(() => undefined);
      return {
        memberId: terminalLine(member.memberId),
        roleId: terminalLine(member.roleId),
        cwd: terminalLine(member.cwd),
        agent_id: member.agentId,
        /** Null for an agent that was removed, or never started. */
        agent: run
          ? boardRow(host, await watchedRun(host, withAsking(run, host)))
          : null
      };
    });
    return [
      {
        squadId: squad.squadId,
        created_at: squad.created_at,
        stateMode: squad.stateMode,
        members: await Promise.all(members)
      }
    ];
  });
  return { squads: (await Promise.all(rows)).flat(), total: newest.length };
}

/** Ids of the squads in the record, newest first. */
function squadIds(directory: string): string[] {
  try {
    return readdirSync(directory)
      .filter((name) => name.endsWith('.json'))
      .map((name) => ({
        id: name.slice(0, -'.json'.length),
        at: statSync(join(directory, name), { throwIfNoEntry: false })?.mtimeMs
      }))
      .sort((a, b) => (b.at ?? 0) - (a.at ?? 0))
      .map(({ id }) => id);
  } catch (error) {
    if (errnoOf(error) === 'ENOENT') return [];
    throw error;
  }
}

/** The council's current discussion. */
export function councilData({ councilStore, registry, processes, keys }: Host) {
  const state = councilStore.read();
  const { session } = state;
  const request = requestOf(state);
  const responses = responsesOf(state);
  if (!session || !request) return { session: null };
  return {
    session: {
      id: session.id,
      status: session.status,
      created_at: session.created_at,
      conclusion: session.conclusion && {
        author: terminalLine(session.conclusion.author),
        created_at: session.conclusion.created_at,
        ...long(session.conclusion.content)
      }
    },
    request: {
      created_by: terminalLine(request.created_by),
      created_at: request.created_at,
      status: request.status,
      ...long(request.content)
    },
    /** Names that may be summoned, and could start now. */
    engines: readyEngineNames(registry, processes, keys).map(terminalLine),
    responses: responses.slice(-mostResponses).map((response) => ({
      id: response.id,
      author: terminalLine(response.author),
      by: response.by ?? null,
      created_at: response.created_at,
      ...long(response.content)
    })),
    responses_total: responses.length,
    participants: state.participants.map((one) => ({
      agent_name: terminalLine(one.agent_name),
      last_seen: one.last_seen,
      has_request: one.last_request_seen === request.id,
      responses: responses.filter(({ author }) => author === one.agent_name)
        .length
    })),
    summons: (state.summons ?? [])
      .filter(({ request_id: id }) => id === request.id)
      .map((summon) => ({
        agent_id: summon.agent_id,
        agent_name: terminalLine(summon.agent_name),
        engine: terminalLine(summon.engine),
        status: summon.status,
        error: summon.error === undefined ? null : line(summon.error)
      }))
  };
}

function long(content: string) {
  return {
    content: shortName(visibleText(content), mostChars),
    content_chars: content.length
  };
}

/** Workers with their queues and their last events. */
export async function workersData(host: Host) {
  // Ends of programs are noticed, as by the tool that lists workers.
  await host.orchestrator.list('all');
  const workers = listedWorkers(host, mostWorkers).map((worker) => {
    const { meta, log } = worker;
    const { tasks, state } = log.read();
    const { name, role, engine, ...facts } = workerJson(worker);
    return {
      ...facts,
      name: line(name),
      role: line(role),
      engine: line(engine),
      model: meta.model === null ? null : line(meta.model),
      access: meta.access,
      backend: meta.backend,
      is_stopping: state.stopAfter !== null,
      tasks: tasks.slice(0, mostTasks).map((task) => ({
        /** As it was given, to cancel the task with; `id` is to be shown. */
        task_id: task.id,
        id: line(task.id),
        what: line(wordsOf(worker, task.payload, task.payloadFile)),
        is_running: task.isRunning,
        is_cancel_wanted: task.isCancelWanted
      })),
      tasks_total: tasks.length,
      events: log.outbox
        .tail(mostEvents, mostEvents * mostEventChars)
        .map(({ seq, at, type, task_id: task, by, ...event }) => ({
          seq,
          at,
          type: line(type),
          task_id: task === undefined ? null : line(task),
          by: by ?? null,
          payload: visibleText(
            shortName(
              wordsOf(worker, event.payload, event.payload_file),
              mostEventChars
            )
          )
        }))
    };
  });
  return { workers };
}

/** A payload as text; of one in a file, the beginning. */
function wordsOf(worker: Worker, payload: unknown, file?: string): string {
  if (file === undefined) return payloadText(payload);
  const path = join(worker.folder.private, file);
  const part = readPart(path, 0, { bytes: mostEventChars });
  const bytes = part ? grouped(part.total_bytes) : 'no';
  return `${bytes} bytes in ${file}: ${part?.text ?? ''}`;
}

function payloadText(payload: unknown): string {
  if (payload === undefined) return '';
  if (typeof payload === 'string') return payload;
  // What most workers send needs no JSON to be read.
  const { text, ...rest }: { text?: unknown } = { ...Object(payload) };
  return typeof text === 'string' && Object.keys(rest).length === 0
    ? text
    : JSON.stringify(payload);
}

function line(text: string): string {
  return terminalLine(shortName(text, 500));
}
