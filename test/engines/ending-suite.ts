import { join } from 'node:path';
import { describe, expect } from 'vitest';
import { processTable } from '../../src/adapters/child-process/process-table.ts';
import { claimOf } from '../../src/core/runs/run-files.ts';
import { processesOf } from '../kit/agents/probe-agent.ts';
import { until } from '../kit/judges/until.ts';
import { type RealCli, testWith } from './clis.ts';
import { createStage, inTheMiddleOfATool, type Stage } from './stage.ts';

/** Stops take 3 s of grace before KILL; this is what a user is promised. */
const promisedMs = 5000;

/** How runs of a real CLI end when they are ended from outside. */
export function endingSuite(cli: RealCli): void {
  const test = testWith(cli);

  describe('an end from outside', () => {
    test('cancel_agent in the middle of a tool leaves no process', async () => {
      const { stage, id } = await inTheMiddleOfATool(cli);
      const began = performance.now();
      const { data } = await stage.server.call('cancel_agent', {
        agent_id: id
      });
      expect(data.status).toBe('canceled');
      expect(processesOf(id)).toEqual([]);
      expect(performance.now() - began).toBeLessThan(promisedMs);
      expect(await stage.result(id)).toMatchObject({
        success: false,
        status: 'canceled',
        error_code: 'canceled'
      });
    });

    test('cancel_agent while the model says nothing leaves no process', async () => {
      const stage = await createStage(cli);
      const id = await stage.start('[[say: Half an ans]] [[hang]]');
      await asked(stage);
      await stage.server.call('cancel_agent', { agent_id: id });
      expect(processesOf(id)).toEqual([]);
      expect(await stage.result(id)).toMatchObject({
        success: false,
        status: 'canceled',
        error_code: 'canceled'
      });
    });

    test('a model that says nothing for too long is an idle_timeout', async () => {
      const settings = { idleTimeoutSeconds: 8 };
      const stage = await createStage(cli, { settings });
      const id = await stage.start('[[hang]]');
      expect(await stage.result(id)).toMatchObject({
        success: false,
        status: 'timeout',
        error_code: 'idle_timeout'
      });
      expect(stage.bodies()).not.toEqual([]);
      await gone(id, promisedMs);
    });

    test('a timeout in the middle of a tool leaves no process', async () => {
      const { stage, id } = await inTheMiddleOfATool(cli, { timeout: 8 });
      await gone(id, 8000 + promisedMs);
      expect(await stage.result(id)).toMatchObject({
        success: false,
        status: 'timeout',
        error_code: 'timeout'
      });
    });

    test('a server killed in the middle of a turn: the next has the result', async () => {
      const stage = await createStage(cli);
      const id = await stage.start('[[sleep: 2500]] [[say: Still here.]]');
      await asked(stage);
      stage.server.child.kill('SIGKILL');
      await stage.server.exited;
      await stage.serve();
      const { data } = await stage.server.call('list');
      expect(data.running).toMatchObject([{ id, type: cli.name }]);
      expect(await stage.result(id)).toMatchObject({
        success: true,
        status: 'completed',
        result: 'Still here.'
      });
    });

    for (const [how, leave] of Object.entries(leavings))
      test(`onDisconnect stop, the server ${how}: nothing is left`, async () => {
        const { stage, id } = await inTheMiddleOfATool(
          cli,
          {},
          { flags: ['--on-disconnect', 'stop'] }
        );
        leave(stage);
        await gone(id, promisedMs);
        await stage.server.exited;
        await stage.serve();
        expect(await stage.result(id)).toMatchObject({
          success: false,
          status: 'interrupted',
          error_code: 'interrupted'
        });
      });

    test('a CLI killed by somebody else is interrupted', async () => {
      const { stage, id } = await inTheMiddleOfATool(cli);
      process.kill(cliOf(stage, id), 'SIGKILL');
      expect(await stage.result(id)).toMatchObject({
        success: false,
        status: 'interrupted',
        error_code: 'interrupted'
      });
      await gone(id, promisedMs);
    });
  });
}

const leavings: Record<string, (stage: Stage) => void> = {
  'is killed': (stage) => stage.server.child.kill('SIGKILL'),
  'loses its client': (stage) => stage.server.child.stdin?.end()
};

/** The program itself: the supervisor's child that is no watchdog. */
function cliOf({ workspace }: Stage, id: string): number {
  const directory = join(workspace.record, 'spawns', id);
  const claim = claimOf(directory, '');
  const cli = processTable().find(
    ({ pid, parent }) =>
      parent === claim?.supervisor?.pid && !claim.watchdogs.includes(pid)
  );
  if (!cli) throw new Error(`No CLI of ${id} runs.`);
  return cli.pid;
}

async function asked(stage: Stage): Promise<void> {
  await until('the request', () => stage.turns()[0]);
}

async function gone(id: string, withinMs: number): Promise<void> {
  const none = () => processesOf(id).length === 0 || undefined;
  await until(`the end of all processes of ${id}`, none, withinMs);
}
