import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, onTestFinished } from 'vitest';
import { type McpClient, startServer } from '../mcp-client.ts';
import type { Action, Turn } from '../model-server/actions.ts';
import { type ModelServer, startModelServer } from '../model-server/server.ts';
import { createTempWorkspace, type TempWorkspace } from '../temp-workspace.ts';
import { until } from '../until.ts';
import { claudeSession, codexSession } from './client-session.ts';
import { claude, codex, testWith, userEnvironment } from './clis.ts';
import { configure } from './stage.ts';

const flags = ['--engines', 'rehearsal'];
const delegate = 'Delegate this.';

const clients = [
  { cli: claude, session: claudeSession },
  { cli: codex, session: codexSession }
];

for (const { cli, session } of clients)
  describe(`${cli.name} as our client`, () => {
    const test = testWith(cli);

    test('its model spawns an agent, waits and reads the answer', async () => {
      const { workspace, model } = await place((turn) => [
        mcp('spawn_rehearsal', { prompt: 'sleep 1\nsay forty-two' }),
        mcp('wait_for_agents', { agent_ids: [spawnedIn(turn)] }),
        mcp('result', { agent_id: spawnedIn(turn) }),
        { do: 'say', text: `The agent said: ${turn.toolResults.at(-1)}` }
      ]);
      const answer = await session({
        workspace,
        model,
        flags,
        prompt: delegate
      });
      expect(answer).toContain('The agent said:');
      expect(answer).toContain('forty-two');
      const [spawned = '', waited = '', result = ''] = resultsSeen(model);
      expect(spawned).toMatch(/rehearsal/i);
      expect(waited).toContain('all_completed');
      for (const seen of [waited, result]) expect(seen).toContain('forty-two');
    });

    test('its agent and that of another server see each other', async () => {
      const { workspace, model } = await place((turn) => [
        mcp('spawn_rehearsal', { prompt: 'hang' }),
        mcp('list', {}),
        mcp('wait_for_agents', { agent_ids: idsIn(turn.toolResults[1]) }),
        { do: 'say', text: `${turn.toolResults[2]}` }
      ]);
      const other = await serve(workspace);
      const { data } = await other.call('spawn_rehearsal', { prompt: 'hang' });
      const outside = String(data.agent_id);
      const ending = session({ workspace, model, flags, prompt: delegate });
      const listed = await until('its list', () => resultsSeen(model)[1]);
      const inside = idIn(resultsSeen(model)[0] ?? '') ?? '';
      expect(idsOf((await other.call('list')).data.running).sort()).toEqual(
        [inside, outside].sort()
      );
      for (const agent_id of [inside, outside])
        await other.call('cancel_agent', { agent_id, reason: 'Seen.' });
      const answer = await ending;
      for (const id of [inside, outside]) {
        expect(listed).toContain(id);
        expect(answer).toContain(id);
      }
      expect(answer).toContain('Canceled: Seen.');
    });

    test('our server is killed in its session: the next has the result', async () => {
      const { workspace, model } = await place((turn) => [
        mcp('spawn_rehearsal', { prompt: 'sleep 3\nsay survived' }),
        // By then the server is gone: what it says does not matter.
        ...(turn.toolResults.length > 0
          ? [{ do: 'sleep', ms: 1500 } as const]
          : []),
        mcp('list', {}),
        { do: 'say', text: 'I am still here.' }
      ]);
      const ending = session({ workspace, model, flags, prompt: delegate });
      const id = await until('the spawn', () => {
        const [spawned] = resultsSeen(model);
        return spawned === undefined ? undefined : idIn(spawned);
      });
      process.kill(ownerOf(workspace, id), 'SIGKILL');
      expect(await ending).toBe('I am still here.');
      const next = await serve(workspace);
      const { data } = await next.call('wait_for_agents', { agent_ids: [id] });
      expect(data).toMatchObject({
        status: 'all_completed',
        results: [
          { status: 'completed', result: expect.stringContaining('survived') }
        ]
      });
    });
  });

describe('claude delegates to codex', () => {
  const test = testWith(claude, codex);

  test("Codex's answer comes back to Claude's model", async () => {
    const { workspace, model } = await place((turn) => [
      mcp('spawn_codex', {
        prompt: '[[shell: printf hi > note.txt]] [[say: Codex was here.]]'
      }),
      mcp('wait_for_agents', { agent_ids: [spawnedIn(turn)] }),
      { do: 'say', text: `${turn.toolResults.at(-1)}` }
    ]);
    configure(workspace, { codex: { baseUrl: model.url } });
    const answer = await claudeSession({ workspace, model, prompt: delegate });
    expect(answer).toContain('Codex was here.');
    expect(readFileSync(join(workspace.path, 'note.txt'), 'utf8')).toBe('hi');
    const paths = model.requests.map(({ path }) => path);
    expect(paths).toContain('/responses');
  });
});

/** A workspace and a model that follows a script when asked to delegate. */
async function place(script: (turn: Turn) => Action[]) {
  const workspace = createTempWorkspace();
  const seen: string[][] = [];
  const model = await startModelServer({
    script: (turn) => {
      if (turn.prompt !== delegate) return undefined;
      seen.push(turn.toolResults);
      return script(turn);
    }
  });
  toolResults.set(model, seen);
  onTestFinished(async () => {
    await model.close();
    workspace.remove();
  });
  return { workspace, model };
}

const toolResults = new WeakMap<ModelServer, string[][]>();

/** What the tools called so far have answered, as the model saw it. */
function resultsSeen(model: ModelServer): string[] {
  return toolResults.get(model)?.at(-1) ?? [];
}

async function serve(workspace: TempWorkspace): Promise<McpClient> {
  const env = userEnvironment();
  const server = await startServer(workspace, { flags, env });
  onTestFinished(async () => {
    await server.close();
  });
  return server;
}

function mcp(tool: string, args: object): Action {
  return { do: 'mcp', server: 'agents', tool, arguments: args };
}

/** The id in the answer to the first tool call; empty before there is one. */
function spawnedIn(turn: Turn): string {
  return idIn(turn.toolResults[0] ?? '') ?? '';
}

function idIn(answer: string): string | undefined {
  return /agent_id\W+([0-9a-f]{8})/.exec(answer)?.[1];
}

/** Every agent that an answer of `list` names. */
function idsIn(answer = ''): string[] {
  const ids = answer.matchAll(/\bid\W+([0-9a-f]{8})\b/g);
  return [...new Set([...ids].map(([, id = '']) => id))];
}

function idsOf(running: unknown): string[] {
  return (running as { id: string }[]).map(({ id }) => id);
}

/** The server that spawned an agent. */
function ownerOf(workspace: TempWorkspace, agentId: string): number {
  const folder = join(workspace.path, '.agents', 'spawns', agentId);
  const record = JSON.parse(readFileSync(join(folder, 'record.json'), 'utf8'));
  return record.owner.pid;
}
