import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { blocksIn } from '../../docs/blocks.ts';
import { keyPaths } from '../../docs/key-paths.ts';
import { documentAt } from '../../kit/judges/documents.ts';
import { runCommand } from '../../kit/servers/command-line.ts';
import { type McpClient, startServer } from '../../kit/servers/mcp-client.ts';
import { createdWorker } from '../../kit/servers/orchestrator-calls.ts';
import {
  createGitWorkspace,
  type GitWorkspace
} from '../../kit/workspaces/git-workspace.ts';

/** Commands that fill every key only with more words. */
const more: Record<string, string[]> = {
  wait: ['--timeout', '0.2'],
  clean: ['--keep', '0', '--dry-run'],
  log: ['--verify'],
  init: ['claude', '--yes', '--access', 'read'],
  ask: ['--engines', 'rehearsal', 'Is it safe?']
};

const blocks = blocksIn(documentAt('docs/guides/command-line.md')).filter(
  ({ language }) => language === 'json'
);

let workspace: GitWorkspace;
let server: McpClient;

/** Agents that ended, one that is at work, a worker, and faults. */
beforeAll(async () => {
  workspace = createGitWorkspace();
  const config = {
    plugins: ['./missing.mjs'],
    engines: { rehearsal: true },
    orchestrator: { backend: 'process', engine: 'rehearsal' }
  };
  workspace.write('.trouperc.json', JSON.stringify(config));
  workspace.write('agents/broken.md', '---\naccess: all\n---\nX.\n');
  server = await startServer(workspace, { flags: ['--toolsets', 'all'] });
  const spawn = async (prompt: string, more = {}) => {
    const input = { prompt, ...more };
    return (await server.call('spawn_rehearsal', input)).data.agent_id;
  };
  const ended = [
    await spawn('say Done.'),
    await spawn('write b.txt hi\nsay Done.', { isolate: 'worktree' })
  ];
  await server.call('wait_for_agents', { agent_ids: ended });
  more.apply = ended.slice(1).map(String);
  workspace.program('claude', 'console.log("2.1.329 (Claude Code)")');
  await spawn('sleep 600');
  await createdWorker(server);
});

afterAll(async () => {
  const { data } = await server.call('agent_list', {});
  for (const { agent_id } of Object(data).agents ?? [])
    await server.call('agent_delete', { agent_id, force: true, confirm: true });
  const { stdout } = await runCommand(workspace, ['list', '--json']);
  for (const { agent_id } of JSON.parse(stdout).running)
    await server.call('cancel_agent', { agent_id });
  await server.close();
  workspace.remove();
});

test('the page shows what many commands print', () => {
  expect(blocks.length).toBeGreaterThan(7);
});

test.each(blocks.map((block) => [block.heading, block.body] as const))(
  'troupe %s --json has every key that the page shows',
  async (heading, body) => {
    if (heading === 'log') changeTheJournal();
    const words = [heading, ...(more[heading] ?? []), '--json'];
    const { stdout, stderr } = await runCommand(workspace, words, {
      env: { XAI_API_KEY: 'made-up' }
    });
    expect(stdout, stderr).not.toBe('');
    expect([...new Set(keyPaths(JSON.parse(stdout)))]).toEqual(
      expect.arrayContaining(keyPaths(JSON.parse(body)))
    );
  }
);

/** So that there is a fault to report. */
function changeTheJournal(): void {
  const file = join(workspace.record, 'iac.jsonl');
  const text = readFileSync(file, 'utf8');
  writeFileSync(file, text.replace('say Done.', 'say More.'));
}
