import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { until } from '../../kit/judges/until.ts';
import type { McpClient } from '../../kit/servers/mcp-client.ts';
import {
  refusal,
  squadIn,
  startMember,
  startSquad,
  waitForSquad
} from '../../kit/servers/squad-call.ts';
import {
  type ApiWorkspace,
  createApiWorkspace,
  ended,
  spawnApi
} from '../../kit/workspaces/api-workspace.ts';
import { fails, says, saysInHalves } from '../../provider-fake/answers.ts';
import type { ApiName, Asked } from '../../provider-fake/asked.ts';

const engines: ApiName[] = ['mistral', 'grok'];

let workspace: ApiWorkspace;

beforeAll(async () => {
  workspace = await createApiWorkspace();
  workspace.write('agents/critic.md', 'You judge.');
});

afterAll(async () => {
  await until('all ends', () => workspace.survivors().length === 0);
  await workspace.close();
});

const footer = `---

# Setup & Reporting Rules

If you notice any setup or environment problems that prevent you from completing your task,
you MUST clearly report them as SETUP / ENVIRONMENT ISSUES.

Explain what you observed and suggest specific steps for the human to fix.
Do not pretend the task succeeded if the environment blocks you.`;
const first = (task: string) =>
  `# Role\n\nYou judge.\n\n---\n\n# Initial Task\n\n${task}\n\n${footer}`;
const later = (task: string) => `# Task\n\n${task}\n\n${footer}`;
const critic = (task: string, chatId?: string | null) => ({
  roleId: 'critic',
  task,
  ...(chatId ? { chatId } : {})
});

describe.each(engines)('a squad of %s', (ENGINE) => {
  let server: McpClient;

  beforeAll(async () => {
    const env = { ENGINE, STATE_MODE: 'stateful' };
    server = await workspace.start({ env });
  });

  const fake = () => workspace.fakes[ENGINE];

  /** All that a prompt was sent with, each as its text. */
  async function saidWith(prompt: string): Promise<string[]> {
    const [asked] = await until('the call', () => {
      const calls: Asked[] = fake().asked(prompt);
      return calls.length > 0 ? calls : undefined;
    });
    return (asked?.said ?? []).map(({ text }) => text);
  }

  /** A chat with one turn. */
  async function begun(task: string): Promise<string> {
    fake().plan(first(task), says(`To ${task}`));
    const { chatId, agentId, status } = await startMember(server, critic(task));
    expect([status, chatId]).toEqual(['completed', agentId]);
    return String(chatId);
  }

  test('remembers in a chat what was said', async () => {
    const chatId = await begun('Begin.');
    fake().plan(later('Go on.'), says('Going.'));
    const again = await startMember(server, critic('Go on.', chatId));
    expect(again).toMatchObject({
      status: 'completed',
      result: 'Going.',
      chatId
    });
    expect(await saidWith(later('Go on.'))).toEqual([
      first('Begin.'),
      'To Begin.',
      later('Go on.')
    ]);
  });

  test('has the turn before in a turn that waited for it', async () => {
    const chatId = await begun('Start.');
    const slow = saysInHalves('A long ', 'answer.');
    fake().plan(later('Second.'), slow.answer);
    const answering = startSquad(server, [
      critic('Second.', chatId),
      critic('Third.', chatId)
    ]);
    await saidWith(later('Second.'));
    const early = await server.call('start_squad_members', {
      members: [critic('Fourth.', chatId)],
      background: true
    });
    const { squadId, members } = squadIn(early);
    expect(members).toMatchObject([{ status: 'queued', chatId }]);
    slow.release();
    await answering;
    await waitForSquad(server, squadId);
    expect(await saidWith(later('Fourth.'))).toEqual([
      first('Start.'),
      'To Start.',
      later('Second.'),
      'A long answer.',
      later('Third.'),
      'ok',
      later('Fourth.')
    ]);
  });

  test('waits for the first turn of a chat, too', async () => {
    const slow = saysInHalves('Well', ' begun.');
    fake().plan(first('Slowly.'), slow.answer);
    const begin = await server.call('start_squad_members', {
      members: [critic('Slowly.')],
      background: true
    });
    const [member] = squadIn(begin).members;
    expect(member?.chatId).toBeNull();
    await saidWith(first('Slowly.'));
    const answering = startMember(server, critic('Eager.', member?.agentId));
    slow.release();
    expect(await answering).toMatchObject({ status: 'completed' });
    expect(await saidWith(later('Eager.'))).toEqual([
      first('Slowly.'),
      'Well begun.',
      later('Eager.')
    ]);
  });

  test('does not go on in a chat whose first turn was canceled meanwhile', async () => {
    const slow = saysInHalves('Never', ' said.');
    fake().plan(first('Held.'), slow.answer);
    const background = async (member: ReturnType<typeof critic>) => {
      const more = { background: true };
      const { squadId, members } = await startSquad(server, [member], more);
      return { squadId, agent_id: members[0]?.agentId ?? '' };
    };
    const begin = await background(critic('Held.'));
    await saidWith(first('Held.'));
    const line = await background(critic('In line.', begin.agent_id));
    const other = await background(critic('Given up.', begin.agent_id));
    await server.call('cancel_agent', { agent_id: other.agent_id });
    const prompt = 'Past the line.';
    const { data } = await server.call('continue_agent', {
      agent_id: other.agent_id,
      prompt
    });
    expect(data).toMatchObject({ error_code: 'session_busy' });
    await server.call('cancel_agent', { agent_id: begin.agent_id });
    const [late] = await waitForSquad(server, line.squadId);
    expect(late).toMatchObject({ status: 'failed' });
    expect(late?.error).toContain('the first turn of the chat');
    for (const said of [prompt, later('In line.'), later('Given up.')])
      expect(fake().asked(said)).toEqual([]);
  });

  test('has its chat under the name of the first turn alone', async () => {
    const chatId = await begun('Open.');
    fake().plan(later('Follow.'), says('Following.'));
    const { agentId } = await startMember(server, critic('Follow.', chatId));
    const said = await refusal(server, [critic('Lost.', agentId)]);
    expect(said).toMatchObject({ error_code: 'no_session' });
    expect(said.error).toContain(`There is no chat "${agentId}"`);
    expect(said.hint).toContain(`"${chatId}"`);
  });

  test('has no chat that began without a role', async () => {
    const prompt = `No ${ENGINE} role.`;
    fake().plan(prompt, says('Fine.'));
    const id = await spawnApi(server, ENGINE, prompt);
    await ended(server, id);
    const said = await refusal(server, [critic('Ask.', id)]);
    expect(said).toMatchObject({ error_code: 'no_session' });
    expect(said.hint).toContain('Leave chatId out');
  });

  test('has no chat that was never begun, or whose beginning failed', async () => {
    fake().plan(first('Fail.'), fails('key'));
    const failed = await startMember(server, critic('Fail.'));
    expect(failed).toMatchObject({ status: 'error', chatId: null });
    for (const chatId of ['0badc0de', 'no-chat', failed.agentId]) {
      const said = await refusal(server, [critic('Ask.', chatId)]);
      expect(said.error_code).toBe('no_session');
      expect(said.error).toContain(`There is no chat "${chatId}"`);
      expect(said.hint).toContain('Leave chatId out');
    }
  });
});

test('an engine that keeps no chats fails its members, and says what to do', async () => {
  workspace.write(
    'mute.mjs',
    `export default { kind: 'cli', name: 'mute', description: 'x',
      command: '/bin/true', args: () => [] };`
  );
  workspace.configure({ plugins: ['./mute.mjs'] });
  const env = { ENGINE: 'mute', STATE_MODE: 'stateful' };
  const server = await workspace.start({ env });
  const { members } = await startSquad(server, [
    critic('New.'),
    critic('Old.', 'a-chat')
  ]);
  for (const member of members) {
    expect(member.status).toBe('error');
    expect(member.error).toContain('Mute keeps no chats');
    expect(member.error).toContain('STATE_MODE');
  }
});

test('stateless, every call has the role and no chat', async () => {
  const server = await workspace.start({ env: { ENGINE: 'mistral' } });
  const prompt = `# Role\n\nYou judge.\n\n---\n\n# Task\n\nOnce.\n\n${footer}`;
  workspace.fakes.mistral.plan(prompt, says('Said.'));
  const member = await startMember(server, critic('Once.'));
  expect(member).toMatchObject({ status: 'completed', result: 'Said.' });
  expect(member).not.toHaveProperty('chatId');
});
