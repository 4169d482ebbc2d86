import { setTimeout as delay } from 'node:timers/promises';
import { until } from '../kit/judges/until.ts';
import type { ToolResult } from '../kit/servers/mcp-client.ts';
import { add } from './diary.ts';
import { attempt } from './servers.ts';
import { list, type Player } from './spawning.ts';

const scripts = ['say it', 'sleep 0.05\nsay it', 'sleep 0.4\nsay it', 'crash'];

/** The errors that a task may meet while processes are killed. */
const expected = [
  'task_exists',
  'already_done',
  'agent_over',
  'unknown_task',
  'not_ready',
  'state_locked',
  'terminal_failed'
];

/** Makes a worker and gives it tasks until time is over. */
export async function employ(player: Player, inPane: boolean): Promise<void> {
  const { random, diary, isOver, name } = player;
  const id = await hire(player, inPane);
  if (id === undefined) return;
  for (let count = 0; !isOver(); count += 1) {
    await delay(random.between(100, 1500));
    const task_id = `${name}-${count}`;
    // A script that crashes is given again, and crashes the next one.
    const dice = random.between(0, 30);
    const payload = dice === 0 ? scripts[3] : scripts[dice % 3];
    const again = random.next() < 0.5;
    const isCanceled = random.next() < 0.15;
    const give = () =>
      attemptAny(player, 'task_enqueue', {
        agent_id: id,
        task: { task_id, payload }
      });
    let answer = await give();
    const isUnknown = answer === undefined;
    if (isUnknown && again) answer = await give();
    const code = answer?.data.error_code;
    if (code === 'agent_over') return;
    // The server that was killed had written it down.
    const isThere = isUnknown && code === 'task_exists';
    if (answer && (!answer.isError || isThere)) {
      add(diary.tasks, id, task_id);
      diary.count('tasks');
    } else if (answer) complain(player, 'task_enqueue', answer);
    if (!isCanceled) continue;
    const args = { agent_id: id, task_id };
    const canceled = await attemptAny(player, 'task_cancel', args);
    if (canceled?.isError) complain(player, 'task_cancel', canceled);
  }
}

async function hire(
  player: Player,
  inPane: boolean
): Promise<string | undefined> {
  const { servers, stage, diary, isOver } = player;
  const args = { name: player.name, role: 'You do what the tasks say.' };
  while (!isOver()) {
    const own = inPane ? await servers.start(stage.inPanes, true) : undefined;
    const answer = own
      ? await attempt(own.client, 'agent_create', args)
      : await attemptAny(player, 'agent_create', args);
    const id = answer?.data.agent_id;
    if (answer && !answer.isError) {
      if (inPane) diary.count('worker in a pane');
      return String(id);
    }
    if (answer) complain(player, 'agent_create', answer);
    diary.count('workers that did not come');
  }
  return undefined;
}

async function attemptAny(
  { servers, random }: Player,
  tool: string,
  args: Record<string, unknown>
): Promise<ToolResult | undefined> {
  return attempt(await servers.any(random), tool, args);
}

function complain({ diary }: Player, tool: string, answer: ToolResult): void {
  const code = String(answer.data.error_code);
  if (!expected.includes(code) && !diary.excuses(answer))
    diary.problem(`${tool}: ${answer.text}`);
}

/** Ends all workers, also workers whose creation was never answered. */
export async function dismiss(player: Player): Promise<void> {
  const all = async () => {
    const answer = await attemptAny(player, 'agent_list', { scope: 'all' });
    return answer && !answer.isError ? list(answer, 'agents') : undefined;
  };
  const isGone = async () => {
    const workers = await all();
    const left = workers?.filter(({ status }) => status !== 'stopped');
    if (left?.length === 0) return true;
    for (const { agent_id } of left ?? []) {
      const args = { agent_id, force: true, confirm: true };
      await attemptAny(player, 'agent_delete', args);
    }
    await delay(200);
    return undefined;
  };
  await until('all workers to be gone', isGone, 120_000);
}
