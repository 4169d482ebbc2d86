import { appendFileSync, existsSync, readFileSync } from 'node:fs';
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

const inLogs = (name: string) => join(workspace.path, 'logs', name);

/** An agent runs and ends, and IAC.md shows it. */
async function shownAgent(): Promise<string> {
  const iac = inLogs('IAC.md');
  const { data } = await server.call('spawn_rehearsal', { prompt: 'say x' });
  const id = String(data.agent_id);
  const done = new RegExp(`Done.*#${id}`);
  const isShown = () => existsSync(iac) && done.test(readFileSync(iac, 'utf8'));
  await until('IAC.md to show it', isShown);
  return id;
}

test('foreign lines in the journal are passed over, and only --verify complains', async () => {
  const first = await shownAgent();
  const id = '0badf00d';
  const forged = [
    { type: 'spawned', agent_id: id },
    { type: 'spawned', agent_id: id, created_at: 7, label: null },
    { type: 'finished', agent_id: first, status: 'completed' }
  ];
  for (const line of forged)
    appendFileSync(workspace.paths.journal, `\n${JSON.stringify(line)}\n`);
  await shownAgent();
  await server.close();
  server = await startServer(workspace);
  const last = await shownAgent();
  expect(server.stderr).not.toContain('Error');

  for (const args of [['list'], ['log']]) {
    const { code, stdout, stderr } = await runCommand(workspace, args);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout).toContain(last);
    expect(stdout).not.toContain(id);
  }
  const found = await runCommand(workspace, ['log', '--verify']);
  expect(found).toMatchObject({ code: 1, stderr: '' });
  expect(found.stdout.match(/is not a record/g)).toHaveLength(3);
});
