import { setTimeout as delay } from 'node:timers/promises';
import { runCommand } from '../kit/servers/command-line.ts';
import { behaviourOf, promptFor, someBehaviour } from './behaviours.ts';
import { attempt } from './servers.ts';
import { list, type Player } from './spawning.ts';

/** Squads in the background, on an engine or on a template. */
export async function startSquads(player: Player): Promise<void> {
  const { servers, random, diary, isOver } = player;
  for (let count = 0; !isOver(); count += 1) {
    await delay(random.between(1500, 4000));
    if (isOver()) return;
    const members = Array.from({ length: random.between(1, 3) }, (_, index) => {
      const name = `${player.name}-${count}-${index}`;
      // With a template there is no event that ends it, and no idler.
      const kinds = ['slow', 'fast', 'fails', 'forker'];
      const behaviour = kinds[random.between(0, kinds.length - 1)] ?? 'slow';
      const task = promptFor(
        { ...someBehaviour(random), kind: behaviour },
        name,
        0.5
      );
      return { roleId: 'code-reviewer', task };
    });
    const server = await servers.any(random);
    const asked = { members, background: true };
    const answer = await attempt(server, 'start_squad_members', asked);
    if (!answer) continue;
    if (answer.isError) {
      if (!diary.excuses(answer)) diary.problem(`a squad: ${answer.text}`);
      continue;
    }
    diary.count('squads');
    for (const { agentId, status, error } of list(answer, 'members')) {
      if (typeof agentId !== 'string') continue;
      // It was refused for want of room, and is no agent.
      const isRefused = status === 'error' && diary.isShort();
      if (status === 'error' && !isRefused)
        diary.problem(`a member ${agentId}: ${error}`);
      if (isRefused) continue;
      diary.acknowledged.add(agentId);
      diary.hear(agentId, status);
    }
  }
}

/** What people type meanwhile. */
export async function typeCommands(player: Player): Promise<void> {
  const { stage, random, diary, isOver } = player;
  while (!isOver()) {
    await delay(random.between(1000, 4000));
    const ids = [...diary.acknowledged];
    const id = ids[random.between(0, ids.length - 1)];
    const lines = [['log'], ['list', '--json'], ['log', '--verify']];
    if (id) lines.push(['result', id, '--json']);
    const line = lines[random.between(0, lines.length - 1)] ?? ['list'];
    const began = Date.now();
    const { code, stdout, stderr } = await runCommand(stage, line);
    diary.count('commands');
    if (line[0] === 'result' && stdout.startsWith('{'))
      diary.hear(id, JSON.parse(stdout).status);
    const what = `troupe ${line.join(' ')}`;
    const isFull = diary.wasFull(began - 15_000, Date.now());
    if (line[0] !== 'result' && code !== 0 && !isFull)
      diary.problem(`${what} exits with ${code}: ${stderr}`);
    if (stderr.includes('bug:')) diary.problem(`${what}: ${stderr}`);
  }
}

/** One of several that talk in the council, through any of the servers. */
export async function talk(player: Player): Promise<void> {
  const { servers, random, diary, isOver, name } = player;
  for (let count = 0; !isOver(); count += 1) {
    await delay(random.between(50, 600));
    const dice = random.next();
    const server = await servers.any(random);
    const content = `${name} says ${count} ${'word '.repeat(random.between(1, 80))}`;
    const said = async (tool: string, args: Record<string, unknown> = {}) => {
      const all = { agent_name: name, ...args };
      const answer = await attempt(server, tool, all);
      if (answer) diary.count('council calls');
      if (!answer?.isError) return answer;
      const code = String(answer.data.error_code);
      if (!inCouncil.includes(code) && !diary.excuses(answer))
        diary.problem(`${tool}: ${answer.text}`);
      return undefined;
    };
    // A summoned agent works on the request.
    const work = promptFor(behaviourOf('slow'), `${name}-${count}`, 0.3);
    if (dice < 0.05) await said('start_council', { request: work });
    else if (dice < 0.06) await said('close_council', { conclusion: content });
    else if (dice < 0.1) {
      const answer = await said('summon_agent', { engine: 'chaos' });
      if (answer) diary.acknowledged.add(String(answer.data.agent_id));
      if (answer) diary.count('summoned');
    } else if (dice < 0.2) await said('join_council');
    else if (dice < 0.4) await said('get_current_session_data');
    else if (dice < 0.5) await said('wait_for_responses', { timeout: 0.5 });
    else {
      const answer = await said('send_response', { content });
      if (answer) diary.responses.set(String(answer.data.response_id), content);
    }
  }
}

/** The errors that a participant may meet, whichever process is killed. */
const inCouncil = [
  'no_council',
  'council_closed',
  'session_replaced',
  'state_locked',
  'unknown_cursor'
];
