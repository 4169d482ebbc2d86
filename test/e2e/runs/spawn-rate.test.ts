import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { clockThatIs } from '../../chaos/stage.ts';
import type { ToolResult } from '../../kit/servers/mcp-client.ts';
import { needing } from '../../kit/workspaces/needs.ts';
import { createNestingStage } from '../../kit/workspaces/nesting-stage.ts';

const most = 20;

const settings = {
  maxSpawnsPerMinute: most,
  maxConcurrent: 8,
  toolsets: ['all'],
  orchestrator: { backend: 'process', engine: 'rehearsal' }
};

function idsOf(answers: ToolResult[]): string[] {
  return answers.flatMap(({ data, isError }) =>
    isError ? [] : [String(data.agent_id)]
  );
}

function isRefused({ isError, data }: ToolResult): boolean {
  if (!isError) return false;
  expect(data).toMatchObject({
    error_code: 'spawn_rate',
    error: expect.stringMatching(/^Nothing was started: no more than \d+ /),
    hint: expect.stringMatching(
      /^Call again in ([1-9]|[1-5]\d|60) s.*maxSpawnsPerMinute/
    )
  });
  return true;
}

describe('a client that spawns without a pause', () => {
  test.each([1, 2])(
    'is refused at the limit by %d servers, which lose nothing and go on',
    async (count) => {
      const { serve, agentsOnDisk } = createNestingStage(settings);
      const servers = await Promise.all(
        Array.from({ length: count }, () => serve())
      );
      const answers = await Promise.all(
        Array.from({ length: 120 }, (_, index) =>
          servers[index % count]?.call('spawn_rehearsal', {
            prompt: `say ${index}`,
            request_id: `request ${index}`
          })
        )
      );
      const all = answers.filter((answer) => answer !== undefined);
      const refused = all.filter(isRefused);
      const ids = idsOf(all);
      expect(ids.length + refused.length).toBe(120);
      expect(ids.length).toBeGreaterThanOrEqual(most);
      // Of two that look at once both may find room.
      expect(ids.length).toBeLessThan(most + count);
      expect(agentsOnDisk().sort()).toEqual(ids.toSorted());
      for (const server of servers) {
        const { data } = await server.call('wait_for_agents', {
          agent_ids: ids
        });
        expect(data.status).toBe('all_completed');
        const { data: list } = await server.call('list', { limit: 100 });
        expect(list.completed_ids).toHaveLength(ids.length);
      }
      // Agents that were started before are named though no more start.
      const again = await Promise.all(
        Array.from({ length: 120 }, (_, index) =>
          servers[0]?.call('spawn_rehearsal', {
            prompt: `say ${index}`,
            request_id: `request ${index}`
          })
        )
      );
      const known = idsOf(again.filter((answer) => answer !== undefined));
      expect(known.sort()).toEqual(ids.toSorted());
    }
  );
});

test('a squad counts its members, a worker is one, refusals are none', async () => {
  const { serve, workspace } = createNestingStage(settings);
  const server = await serve();
  workspace.write('agents/one.md', '---\nengine: rehearsal\n---\nYou try.');
  const squad = (count: number) =>
    server.call('start_squad_members', {
      members: Array.from({ length: count }, () => ({
        roleId: 'one',
        task: 'say x'
      })),
      background: true
    });
  const worker = () =>
    server.call('agent_create', { name: 'w', role: 'You wait.' });
  const spawn = (more: object = {}) =>
    server.call('spawn_rehearsal', { prompt: 'say y', ...more });

  expect((await squad(9)).isError).toBe(false);
  expect((await spawn({ cwd: 'nowhere' })).isError).toBe(true);
  expect((await squad(12)).data.error_code).toBe('spawn_rate');
  expect((await worker()).isError).toBe(false);
  expect((await squad(9)).isError).toBe(false);
  expect((await spawn()).isError).toBe(false);
  for (const refused of [await spawn(), await worker(), await squad(1)])
    expect(isRefused(refused)).toBe(true);
  const tooMany = await squad(12);
  expect(tooMany.isError).toBe(true);
});

test('agents have a tenth of it, and leave people the rest', async () => {
  const { serve, parents, answers } = createNestingStage(settings);
  const server = await serve();
  const spawn = { tool: 'spawn_rehearsal', arguments: { prompt: 'say x' } };
  const [one = []] = await answers(await parents(1, [spawn, spawn, spawn]));
  expect(one.map(({ isError }) => isError)).toEqual([false, false, true]);
  // Another agent's server counts the same ones.
  const [other = []] = await answers(await parents(1, [spawn]));
  for (const answer of [...one.slice(2), ...other])
    expect(answer.data).toMatchObject({
      error_code: 'spawn_rate',
      error: expect.stringContaining('no more than 2 agents are started by')
    });
  const { isError } = await server.call('spawn_rehearsal', { prompt: 'say p' });
  expect(isError).toBe(false);
});

needing('libfaketime', clockThatIs(1) !== undefined)(
  'servers whose clocks are hours apart count the same spawns',
  async () => {
    const { serve } = createNestingStage(settings);
    const servers = await Promise.all(
      [-1, 0, 1].map((hours) => serve(clockThatIs(hours)))
    );
    const answers: ToolResult[] = [];
    for (let round = 0; round < 8; round += 1)
      for (const server of servers)
        answers.push(await server.call('spawn_rehearsal', { prompt: 'say x' }));
    expect(idsOf(answers)).toHaveLength(most);
    expect(answers.slice(most).every(isRefused)).toBe(true);
  }
);

test('spawns go on where they cannot be counted', async () => {
  const { serve, workspace } = createNestingStage(settings);
  mkdirSync(join(workspace.record, 'counts', 'spawn-times'), {
    recursive: true
  });
  const server = await serve();
  const spawned = await Promise.all(
    Array.from({ length: most + 5 }, () =>
      server.call('spawn_rehearsal', { prompt: 'say x' })
    )
  );
  expect(idsOf(spawned)).toHaveLength(most + 5);
});
