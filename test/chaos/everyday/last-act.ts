import { until } from '../../kit/judges/until.ts';
import { removeWhileUsed } from '../../kit/workspaces/remove-while-used.ts';
import { attempt, type Served } from '../servers.ts';
import { list } from '../spawning.ts';
import { isAlive } from './agent-acts.ts';
import { startPatient } from './agents.ts';
import { type EverydayPlayer, factsOf } from './player.ts';

const goneMs = 30_000;

/**
 * The record itself vanishes under two servers that live: agents end, are
 * named on stderr, and a wait does not take them for completed.
 * @returns what was wrong
 */
export async function loseRecord(
  player: EverydayPlayer,
  last: Served
): Promise<string[]> {
  const { servers, stage } = player;
  const other = await servers.start([], true, 'with plugins');
  const names = [1, 2, 3].map((n) => `last-${n}`);
  const kinds = [last.kind];
  const started = await Promise.all(
    names.map((name) => startPatient(player, name, 60, kinds))
  );
  const ids = started.filter((id) => id !== undefined);
  await until('agents to begin', () =>
    ids.every((id) => factsOf(player, id).includes('start'))
  );
  const asked = { agent_ids: ids, timeout: goneMs / 1000 };
  const waits = [last, other].map(
    (served) => served && attempt(served.client, 'wait_for_agents', asked)
  );
  removeWhileUsed(stage.record);
  const faults: string[] = [];
  const areGone = () => ids.every((id) => !isAlive(id));
  await until('agents to end', areGone, goneMs).catch(() =>
    faults.push('agents go on without the record')
  );
  for (const waiting of waits) {
    const answer = await waiting;
    const ended = list(answer, 'results', 'completed_results');
    const isCompleted = ended.some(({ status }) => status === 'completed');
    if (isCompleted || answer?.data.status === 'all_completed')
      faults.push(`a wait without the record: ${answer?.text}`);
  }
  for (const id of ids)
    if (!last.client.stderr.includes(id))
      faults.push(`stderr says nothing of ${id}, which was lost`);
  return faults;
}
