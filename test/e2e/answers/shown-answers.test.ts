import { afterAll, beforeAll, expect, test } from 'vitest';
import { answerTool } from '../../docs/block-faults.ts';
import { type Block, blocksIn } from '../../docs/blocks.ts';
import { keyPaths } from '../../docs/key-paths.ts';
import { documents } from '../../kit/judges/documents.ts';
import { until } from '../../kit/judges/until.ts';
import { type McpClient, startServer } from '../../kit/servers/mcp-client.ts';
import {
  createGitWorkspace,
  type GitWorkspace
} from '../../kit/workspaces/git-workspace.ts';

/** Played call by call by the tests of docs/guides/squads.md and orchestrator.md. */
const played =
  /^(start_squad|list_roles|agent_|task_|events_|wait_for_command)/;

/** Every path of keys that real answers had, by the tool that gave them. */
const seen = new Map<string, Set<string>>();

let workspace: GitWorkspace;
let server: McpClient;

beforeAll(async () => {
  workspace = createGitWorkspace();
  server = await startServer(workspace);
  await askForEverything();
});

afterAll(async () => {
  await server.close();
  workspace.remove();
});

/** One answer of each kind that pages show. */
async function askForEverything(): Promise<void> {
  const spawn = (prompt: string, more = {}) =>
    noted('spawn_rehearsal', { prompt, ...more });
  const long = await spawn('sleep 60');
  const ended = [
    await spawn('write a.txt hi\nsay Done.'),
    await spawn('write b.txt hi\nsay Done.', { isolate: 'worktree' })
  ];
  await noted('wait_for_agents', { agent_ids: ended });
  for (const agent_id of ended) await noted('result', { agent_id });
  await until('what it is at', async () => {
    await noted('result', { agent_id: long });
    return seen.get('result')?.has('progress') ?? false;
  });
  // Without a key it fails at once.
  await noted('spawn_mistral', { prompt: 'x' });
  await noted('list');
  await noted('wait_for_agents', { agent_ids: [long], timeout: 0.1 });
  await noted('cancel_agent', { agent_id: long });
  await noted('wait_for_agents', { agent_ids: [long] });
  const asker = await spawn('permit npm test', {
    access: 'read',
    ask: 'coordinator'
  });
  await noted('wait_for_agents');
  const ask_id = `${asker}-1`;
  await noted('answer_agent', { ask_id, decision: 'allow' });
  const [first] = ended;
  const next = { agent_id: first, prompt: 'say and more' };
  await noted('continue_agent', next);
  await noted('second_opinion', {
    question: 'say Yes.',
    engines: ['rehearsal']
  });
  await noted('spawn_rehearsal', { promt: 'x' });
  const who = { agent_name: 'claude' };
  await noted('start_council', { ...who, request: 'say Yes.' });
  await noted('send_response', { ...who, content: 'Yes.' });
  await noted('summon_agent', { engine: 'rehearsal' });
  await noted('join_council', { agent_name: 'codex' });
  await noted('wait_for_responses', { ...who });
  await noted('close_council', { ...who, conclusion: 'Yes.' });
  await noted('join_council', { agent_name: 'codex' });
}

/** Calls a tool, keeps the keys of its answer, and gives the agent's id. */
async function noted(
  tool: string,
  input: Record<string, unknown> = {}
): Promise<unknown> {
  const { data } = await server.call(tool, input);
  const known = seen.get(tool) ?? new Set();
  seen.set(tool, new Set([...known, ...keyPaths(data)]));
  return data.agent_id;
}

/** The fewest keys that no answer of one tool had. */
function strangeKeys(body: string): string[] {
  const shown = [...new Set(keyPaths(JSON.parse(body)))];
  const strange = [...seen.values()].map((known) =>
    shown.filter((path) => !known.has(path))
  );
  return (
    strange.toSorted((one, other) => one.length - other.length)[0] ?? shown
  );
}

function isAnswer(block: Block): boolean {
  const tool = block.language === 'json' ? answerTool(block) : undefined;
  return tool !== undefined && tool !== 'record' && !played.test(tool);
}

test('the answers that pages show have only keys that tools answer with', () => {
  const shown = documents().flatMap(blocksIn).filter(isAnswer);
  expect(shown.length).toBeGreaterThan(20);
  const strange = shown.flatMap((block) => {
    const keys = strangeKeys(block.body);
    return keys.length === 0
      ? []
      : [`${block.path}:${block.line}: ${keys.join(', ')}`];
  });
  expect(strange).toEqual([]);
});

test('a key that no answer has is found, however deep', () => {
  const body = '{ "status": "timeout", "results": [{ "agent": "1a2b3c4d" }] }';
  expect(strangeKeys(body)).toEqual(['results[].agent']);
});
