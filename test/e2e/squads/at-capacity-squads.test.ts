import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { answersOf } from '../../kit/agents/nesting-agent.ts';
import { until } from '../../kit/judges/until.ts';
import {
  createNestingStage,
  occupy,
  atCapacity as refused
} from '../../kit/workspaces/nesting-stage.ts';

describe('a squad that an agent starts', () => {
  const members = (count: number) => ({
    members: Array.from({ length: count }, (_, index) => ({
      roleId: 'one',
      task: `sleep 0.2\nsay ${index}`
    })),
    background: true
  });
  const start = (count: number) => ({
    tool: 'start_squad_members',
    arguments: members(count)
  });
  const stageWith = (settings: Record<string, unknown>) => {
    const stage = createNestingStage(settings);
    const role = '---\nengine: rehearsal\n---\nYou try.';
    stage.workspace.write('agents/one.md', role);
    return stage;
  };

  test('needs a place for each of its members', async () => {
    const stage = stageWith({ maxConcurrent: 3 });
    const { serve, parents, answers, workspace } = stage;
    await serve();
    const [parent = ''] = await parents(1, [start(3), start(2)]);
    const [[three, two] = []] = await answers([parent]);
    expect(three).toMatchObject(refused);
    expect(three?.data.error).toContain('no 3 slots are free');
    expect(two?.isError).toBe(false);
    expect(two?.data.members).toMatchObject([
      { status: 'running' },
      { status: 'running' }
    ]);
    const squads = readdirSync(join(workspace.record, 'squads'));
    expect(squads.filter((name) => /^squad/.test(name))).toHaveLength(1);
  });

  test('needs one place when they take turns', async () => {
    const squad = { executionMode: 'sequential' };
    const stage = stageWith({ maxConcurrent: 2, squad });
    const { serve, parents, answers } = stage;
    await serve();
    const wait = { tool: 'wait_for_agents', arguments: {} };
    const [parent = ''] = await parents(1, [start(3), wait]);
    const [[started, waited] = []] = await answers([parent]);
    expect(started?.isError).toBe(false);
    expect(waited?.data.status).toBe('all_completed');
    expect(waited?.data.results).toMatchObject(
      Array.from({ length: 3 }, () => ({ status: 'completed' }))
    );
  });

  test('ends a member whose turn comes when there is no place for long', async () => {
    const squad = { executionMode: 'sequential', sequentialDelayMs: 700 };
    const stage = stageWith({ maxConcurrent: 2, squad });
    const { serve, parents, letGo, agentsOnDisk } = stage;
    const server = await serve();
    const wait = { tool: 'wait_for_agents', arguments: {} };
    const [parent = ''] = await parents(1, [start(2), wait]);
    letGo();
    // The first has its slot by then; the next one gets it afterwards.
    await until('both members', () => agentsOnDisk().length === 3);
    await occupy(server);
    const [started, waited] = await answersOf(server, parent);
    expect(started?.isError).toBe(false);
    expect(waited?.data.results).toMatchObject([
      { status: 'completed' },
      {
        status: 'failed',
        error_code: 'spawn_failed',
        error: expect.stringContaining('no slot was free for 10 s')
      }
    ]);
  });
});
