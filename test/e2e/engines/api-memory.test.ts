import { existsSync } from 'node:fs';
import { expect } from 'vitest';
import { until } from '../../kit/judges/until.ts';
import {
  apiHostsOf,
  proportionalBytes,
  textIn
} from '../../kit/workspaces/api-processes.ts';
import {
  createApiWorkspace,
  ended,
  spawnApi
} from '../../kit/workspaces/api-workspace.ts';
import { processesIn } from '../../kit/workspaces/end-all-in.ts';
import { needing } from '../../kit/workspaces/needs.ts';
import { saysInHalves } from '../../provider-fake/answers.ts';

const agents = 200;
const mostMegabytes = 400;

const testMemory = needing(
  '/proc/self/smaps_rollup',
  existsSync('/proc/self/smaps_rollup')
);

testMemory('200 API agents at once share one host and 400 MB', async () => {
  const workspace = await createApiWorkspace();
  workspace.configure({ maxConcurrentApi: 256, maxSpawnsPerMinute: 0 });
  const fake = workspace.fakes.mistral;
  const { answer, release } = saysInHalves('half', ' and half');
  fake.plan('Many', answer);
  try {
    const server = await workspace.start();
    const before = proportionalBytes(server.pid);
    const ids = await Promise.all(
      Array.from({ length: agents }, () => spawnApi(server, 'mistral', 'Many'))
    );
    await until(
      'all calls',
      () => fake.asked('Many').length === agents || undefined,
      90_000
    );

    const others = processesIn(workspace.path).filter(
      (pid) => pid !== server.pid
    );
    const growth = proportionalBytes(server.pid) - before;
    const bytes = others
      .map(proportionalBytes)
      .reduce((sum, one) => sum + one, growth);
    const nodes = others.filter((pid) =>
      textIn(pid, 'cmdline').startsWith(`${process.execPath}\0`)
    );
    expect(bytes / 2 ** 20).toBeLessThanOrEqual(mostMegabytes);
    expect(nodes).toEqual(apiHostsOf(workspace, 'mistral'));
    expect(nodes).toHaveLength(1);

    release();
    for (const id of ids)
      expect(await ended(server, id)).toMatchObject({
        status: 'completed',
        result: 'half and half'
      });
    expect(fake.asked('Many')).toHaveLength(agents);
  } finally {
    await workspace.close();
  }
});
