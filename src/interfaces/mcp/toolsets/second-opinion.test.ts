import { expect, onTestFinished, test, vi } from 'vitest';
import { stopClock } from '../../../../test/kit/agents/process-stage.ts';
import { callContext } from '../../../../test/kit/servers/call-context.ts';
import { hostHere } from '../../../../test/kit/servers/host-here.ts';
import type { CliEngine } from '../../../plugin/plugin.ts';
import { secondOpinionTool } from './second-opinion.ts';

/** Is at work until it is stopped. */
const still: CliEngine = {
  kind: 'cli',
  name: 'still',
  description: 'For tests.',
  command: '/bin/sh',
  args: () => ['-c', 'exec sleep 100']
};

test('an engine that is at work when the client has to have its answer is named as running', async () => {
  const { host } = await hostHere({ engines: 'still' }, [still]);
  onTestFinished(async () => {
    vi.restoreAllMocks();
    for (const id of host.store.ids()) await host.cancel(id);
  });
  const advance = stopClock();
  const { structuredContent } = await secondOpinionTool(host).call(
    { question: 'Why?', engines: ['still'] },
    callContext({ progress: () => advance(60_000) })
  );
  const { opinions, ...rest } = Object(structuredContent);
  expect(opinions).toMatchObject([
    { engine: 'still', status: 'running', message: expect.any(String) }
  ]);
  const { agent_id: id } = opinions[0];
  expect(rest).toMatchObject({ status: 'timeout', still_running: [id] });
});

test('why an engine is not started is said beside the opinions of the others', async () => {
  const quick: CliEngine = { ...still, name: 'quick', args: () => ['-c', ':'] };
  const { host } = await hostHere({ engines: 'quick,still' }, [quick, still]);
  host.config.maxSpawnsPerMinute = 1;
  const { structuredContent } = await secondOpinionTool(host).call(
    { question: 'Why?', engines: ['quick', 'still'] },
    callContext()
  );
  const { opinions, not_started } = Object(structuredContent);
  expect(opinions).toMatchObject([{ engine: 'quick' }]);
  expect(not_started).toEqual([
    expect.stringContaining('no more than 1 agents')
  ]);
});
