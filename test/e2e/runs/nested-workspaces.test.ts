import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { own, shared, write } from '../../kit/agents/editor.ts';
import { until } from '../../kit/judges/until.ts';
import { type McpClient, startServer } from '../../kit/servers/mcp-client.ts';
import { createGitWorkspace } from '../../kit/workspaces/git-workspace.ts';

async function started(server: McpClient, parts: string[]): Promise<string> {
  const prompt = [...parts, 'echo ok'].join('; ');
  const { data } = await server.call('spawn_shell', { prompt });
  return String(data.agent_id);
}

async function resultOf(server: McpClient, id: string) {
  const input = { agent_ids: [id], timeout: 60 };
  const { data } = await server.call('wait_for_agents', input);
  const [result] = data.results as Record<string, unknown>[];
  return result ?? {};
}

test('agents of a workspace and of one inside it share their files', async () => {
  const workspace = createGitWorkspace();
  onTestFinished(workspace.remove);
  workspace.write('pkg/.trouperc.json', '{"plugins":["../shell.mjs"]}');
  workspace.commit('package');
  const path = join(workspace.path, 'pkg');
  const upper = await startServer(workspace);
  const lower = await startServer({ ...workspace, path });
  onTestFinished(async () => {
    await Promise.all([upper.close(), lower.close()]);
  });
  const alone = await started(lower, [write('old.txt')]);
  expect((await resultOf(lower, alone)).files_changed).toEqual([
    own('old.txt')
  ]);
  const end = join(workspace.home, 'end');
  const first = await started(upper, [
    write('a.txt'),
    `until [ -e '${end}' ]; do sleep 0.05; done`
  ]);
  const written = join(workspace.path, 'a.txt');
  await until('a.txt', () => existsSync(written) || undefined);
  const second = await started(lower, [write('b.txt')]);
  const inner = await resultOf(lower, second);
  expect(inner.files_changed).toEqual([shared('b.txt')]);
  expect(inner.files_changed_note).toContain(
    `meanwhile: ${first} (of ${workspace.path}).`
  );
  workspace.write('../home/end', '');
  const outer = await resultOf(upper, first);
  expect(outer.files_changed).toEqual([shared('a.txt'), shared('pkg/b.txt')]);
  expect(outer.files_changed_note).toContain(
    `meanwhile: ${second} (of ${path}).`
  );
});
