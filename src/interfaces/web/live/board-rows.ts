import type { OpenAsk } from '../../../core/asks/answers/asks.ts';
import type { Worker } from '../../../core/orchestrator/queue/worker-store.ts';
import { wasRead } from '../../../core/runs/run-files.ts';
import { shortName, terminalLine, visibleText } from '../../../core/text.ts';
import type { Host } from '../../../host/host.ts';
import { describeRun } from '../../board/board-rows.ts';
import { workerJson } from '../../board/listed-workers.ts';
import { isWorker, type WatchedAgent } from '../../board/watched-agent.ts';
import type { Row } from './row-log.ts';

/** The most characters of a text in a row. */
const mostChars = 500;

/**
 * One agent or worker of the board, with the names of `troupe watch --json`.
 * Nothing in it changes by the passing of time alone.
 */
export function boardRow({ store }: Host, agent: WatchedAgent): Row {
  const { of } = agent;
  if (isWorker(of)) {
    const { name, role, engine, ...worker } = workerJson(of);
    return {
      id: `worker:${worker.agent_id}`,
      kind: 'worker',
      ...worker,
      name: line(name),
      role: line(role),
      engine: line(engine),
      /** Changes with each command and event. */
      stamp: stampOf(of)
    };
  }
  const { record, outcome } = of;
  const [row] = describeRun(agent);
  const { seconds = 0, quiet_seconds: _, ...facts } = row ?? {};
  return {
    id: `agent:${agent.id}`,
    kind: 'agent',
    ...facts,
    task: agent.task,
    doing: agent.doing ?? '',
    seconds: agent.isActive ? null : seconds,
    access: record.access,
    parent: record.parent,
    continues: record.continues,
    squad: record.squad
      ? {
          squadId: line(record.squad.squadId),
          memberId: line(record.squad.memberId),
          roleId: line(record.squad.roleId)
        }
      : null,
    heard_at:
      agent.heardAt === undefined
        ? null
        : new Date(agent.heardAt).toISOString(),
    error_code: outcome?.error_code ?? null,
    is_read: outcome ? wasRead(store.directoryOf(record.agent_id)) : null
  };
}

/** An ask; the whole of a longer subject is fetched by its id. */
export function askRow({ ask, record }: OpenAsk): Row {
  const { ask_id, agent_id, kind, tool, subject, options, reason } = ask;
  const [[subjectKind, text] = ['', '']] = Object.entries(subject);
  const whole = visibleText(text);
  return {
    id: `ask:${ask_id}`,
    kind: 'ask',
    ask_id,
    agent_id,
    engine: line(record.engine),
    ask_kind: kind,
    tool: line(tool),
    subject_kind: subjectKind,
    subject: shortName(whole, mostChars),
    subject_chars: whole.length,
    options: options?.map((one) => shortName(visibleText(one), mostChars)),
    reason:
      reason === undefined ? null : shortName(visibleText(reason), mostChars),
    needs: ask.needs,
    asked_at: ask.asked_at,
    expires_at: ask.expires_at
  };
}

function stampOf({ log }: Worker): string {
  const { commandSeq, eventSeq } = log.read().state;
  return `${commandSeq} ${eventSeq}`;
}

function line(text: string): string {
  return terminalLine(text.slice(0, mostChars));
}
