import { afterAll, expect, test } from 'vitest';
import {
  toolsetChoices,
  unservedIn,
  workerToolNames
} from '../../../../test/kit/servers/tool-names.ts';
import { createTempWorkspace } from '../../../../test/kit/workspaces/temp-workspace.ts';
import { loadConfig } from '../../../config/config.ts';
import { createHost } from '../../../host/host.ts';
import { Prompts } from '../prompts/prompts.ts';
import { instructionsFor } from '../server/instructions.ts';
import { toolsOf } from '../server/offer.ts';

const workspace = createTempWorkspace();

afterAll(() => workspace.remove());

/** Everything that a client reads before its first call. */
async function textsWith(toolsets: string) {
  const flags = { workspace: workspace.path, toolsets };
  const config = await loadConfig(flags, {});
  // The texts also name ignored settings and failing plugins.
  const leftOut = Array.from({ length: 20 }, (_, index) => ({
    setting: `engines.e${index}.command`,
    allows: 'runs x',
    files: [],
    digests: {},
    isGranted: false
  }));
  const host = await createHost({
    ...config,
    trust: { ...config.trust, leftOut }
  });
  host.registry.faults.push(
    ...leftOut.map(({ setting }) => ({ plugin: setting, problem: 'is gone' }))
  );
  const tools = toolsOf(host).map(({ call, ...facts }) => facts);
  const prompts = new Prompts(host);
  const offered = await prompts.list();
  const texts = await Promise.all(
    offered.map(({ name, arguments: parts = [] }) => {
      const needed = parts.filter(({ required }) => required);
      const given = needed.map((part) => [part.name, 'x']);
      return prompts.get(name, Object.fromEntries(given), 'x');
    })
  );
  const text = [
    instructionsFor(host.registry, host.config),
    ...tools.map((tool) => JSON.stringify(tool)),
    JSON.stringify(offered),
    ...texts.map(({ text }) => text)
  ].join('\n');
  await host.close();
  return { names: tools.map(({ name }) => name), text };
}

test.each(toolsetChoices)(
  'with %s, no text names a tool that is not served',
  async (toolsets) => {
    const { names: all } = await textsWith('all');
    const { names, text } = await textsWith(toolsets);
    const known = [...all, ...workerToolNames];
    expect(unservedIn(text, known, names)).toEqual([]);
    expect(text).not.toMatch(names.includes('spawn_claude') ? /^$/ : /spawn_/);
  }
);

test('a mention of a tool that is not served is found', () => {
  const all = ['list', 'result', 'wait_for_agents'];
  const found = (text: string) => unservedIn(text, all, []);
  expect(found('Call list.')).toEqual(['list']);
  expect(found('result {"agent_id":"x"} gives it')).toEqual(['result']);
  expect(found('then wait_for_agents gives it')).toEqual(['wait_for_agents']);
  expect(found('the command "troupe list"; the result of each')).toEqual([]);
  expect(unservedIn('Call list.', all, all)).toEqual([]);
});
