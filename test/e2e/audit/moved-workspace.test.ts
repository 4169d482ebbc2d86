import { existsSync, renameSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { until } from '../../kit/judges/until.ts';
import { runCommand } from '../../kit/servers/command-line.ts';
import { startServer } from '../../kit/servers/mcp-client.ts';
import { createdWorker } from '../../kit/servers/orchestrator-calls.ts';
import {
  createTempWorkspace,
  type TempWorkspace
} from '../../kit/workspaces/temp-workspace.ts';

let workspace: TempWorkspace;
let moved: TempWorkspace;

beforeEach(() => {
  workspace = createTempWorkspace();
  workspace.write(
    '.trouperc.json',
    JSON.stringify({
      engines: { rehearsal: true },
      orchestrator: { backend: 'process', engine: 'rehearsal' }
    })
  );
  moved = { ...workspace, path: join(workspace.home, 'renamed') };
});

afterEach(() => workspace.remove());

const move = () => renameSync(workspace.path, moved.path);
const moveBack = () => renameSync(moved.path, workspace.path);

const adopt = () =>
  runCommand(moved, ['record', '--from', workspace.path, '--json']);
const cleanOrphans = () =>
  runCommand(moved, ['clean', '--orphans', '--yes', '--json']);

/** Starts an agent and ends its server. */
async function leaveAgentAtWork(): Promise<string> {
  const server = await startServer(workspace);
  const { data } = await server.call('spawn_rehearsal', {
    prompt: 'say begun\nsleep 600'
  });
  const id = String(data.agent_id);
  await until('a claim', () =>
    existsSync(join(workspace.record, 'spawns', id, 'claim')) ? true : undefined
  );
  await server.close();
  return id;
}

describe('the record of a workspace that was moved', () => {
  test('stays where it is while an agent works, whose client has left', async () => {
    const id = await leaveAgentAtWork();
    move();

    const refused = await adopt();
    expect(refused.code).toBe(1);
    const { error } = JSON.parse(refused.stdout);
    expect(error.code).toBe('record_refused');
    expect(error.message).toContain(`agent ${id} is at work`);
    expect(error.hint).toContain('troupe cancel');
    const kept = await cleanOrphans();
    expect(JSON.parse(kept.stdout).orphans).toEqual([]);
    expect(kept.stderr).toContain(`stays: agent ${id} is at work`);
    expect(existsSync(join(workspace.record, 'spawns', id))).toBe(true);

    // What the hint says.
    moveBack();
    expect((await runCommand(workspace, ['cancel', id])).code).toBe(0);
    move();
    const taken = await adopt();
    expect(taken.code, taken.stderr).toBe(0);
    const result = await runCommand(moved, ['result', id, '--json']);
    expect(JSON.parse(result.stdout).status).toBe('canceled');
    moveBack();
  });

  test('stays where it is while a worker runs', async () => {
    const flags = ['--toolsets', 'orchestrator'];
    const server = await startServer(workspace, { flags });
    const { agent_id: id } = await createdWorker(server);
    await server.close();
    move();

    const refused = await adopt();
    expect(refused.code).toBe(1);
    const { error } = JSON.parse(refused.stdout);
    expect(error.message).toContain(`worker ${id} is at work`);
    const kept = await cleanOrphans();
    expect(JSON.parse(kept.stdout).orphans).toEqual([]);
    expect(kept.stderr).toContain(`stays: worker ${id} is at work`);
    moveBack();
    const again = await startServer(workspace, { flags });
    await again.call('agent_delete', { agent_id: id, force: true });
    await again.close();
  });
});
