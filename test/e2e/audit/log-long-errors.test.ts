import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { until } from '../../kit/judges/until.ts';
import { runCommand } from '../../kit/servers/command-line.ts';
import { type McpClient, startServer } from '../../kit/servers/mcp-client.ts';
import {
  createTempWorkspace,
  type TempWorkspace
} from '../../kit/workspaces/temp-workspace.ts';

let workspace: TempWorkspace;
let server: McpClient;

beforeEach(async () => {
  workspace = createTempWorkspace();
  workspace.write('troupe.config.json', '{"engines": {"rehearsal": true}}');
  server = await startServer(workspace);
});

afterEach(async () => {
  await server.close();
  workspace.remove();
});

/** An agent fails with an error so long; the log says how it ended. */
async function failed(chars: number) {
  const prompt = `fail provider_error ${'E'.repeat(chars)}`;
  const { data } = await server.call('spawn_rehearsal', { prompt });
  const agent_id = String(data.agent_id);
  await server.call('wait_for_agents', { agent_ids: [agent_id], timeout: 30 });
  const shown = new RegExp(`Failed.*#${agent_id}`);
  const iac = join(workspace.path, 'logs', 'IAC.md');
  await until(
    'IAC.md to show it',
    () => existsSync(iac) && shown.test(readFileSync(iac, 'utf8'))
  );
  const { stdout } = await runCommand(workspace, ['log', '--json', '-n', '1']);
  const path = `spawns/${agent_id}/outcome.json`;
  const outcome = readFileSync(join(workspace.record, path), 'utf8');
  return {
    record: JSON.parse(stdout),
    path,
    error: JSON.parse(outcome).error,
    iac: readFileSync(iac, 'utf8')
  };
}

test('of an error that the log cuts it says how long it was and where it is', async () => {
  const { record, path, error, iac } = await failed(6000);
  expect(error.length).toBeGreaterThanOrEqual(6000);
  expect(record.error).toBe(error.slice(0, 4000));
  expect(record.whole_error).toEqual({
    chars: error.length,
    sha256: createHash('sha256').update(error).digest('hex'),
    path
  });
  expect(iac).toContain(`❗ Error (${error.length} chars)`);
  expect(iac).toContain(`cut here; the whole error is in ${path}`);
});

test('an error that the log holds in full is printed unchanged', async () => {
  const { record, error, iac } = await failed(3000);
  expect(record.error).toBe(error);
  expect(record).not.toHaveProperty('whole_error');
  expect(iac).toContain(`❗ Error (${error.length} chars)`);
  expect(iac).not.toContain('cut here');
});
