import { afterAll, expect, test } from 'vitest';
import { tokensOf } from '../../../bench/token-count.mjs';
import { loadConfig } from '../../config.ts';
import { createHost } from '../../host.ts';
import { createTempWorkspace } from '../../testing/temp-workspace.ts';
import { toolsOf } from './server.ts';

const workspace = createTempWorkspace();

afterAll(() => workspace.remove());

async function tokensWith(toolsets?: string) {
  const flags = { workspace: workspace.path, toolsets };
  const host = await createHost(await loadConfig(flags, {}));
  const tools = toolsOf(host).map(({ call, ...told }) => told);
  await host.close();
  return { count: tools.length, ...tokensOf(tools) };
}

test('the 23 tools of a server cost at most 3,500 tokens, all told', async () => {
  const { count, sent, whole } = await tokensWith();
  expect(count).toBe(23);
  expect(whole).toBeLessThanOrEqual(3500);
  // What clients hand to a model: 2,719 when this was written.
  expect(sent).toBeLessThanOrEqual(2855);
});

// What clients hand to a model, when this was written and 5 % more.
test.each([
  ['spawn', 1625],
  ['runs', 352],
  ['squad', 214],
  ['council', 524],
  ['orchestrator', 743],
  ['all', 3460]
])(
  'the toolset %s costs no more than %i tokens and 5 %',
  async (name, tokens) => {
    const { sent } = await tokensWith(name);
    expect(sent).toBeLessThanOrEqual(Math.round(1.05 * tokens));
  }
);
