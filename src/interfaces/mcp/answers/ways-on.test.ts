import { expect, test } from 'vitest';
import { createTempWorkspace } from '../../../../test/kit/workspaces/temp-workspace.ts';
import { loadConfig } from '../../../config/config.ts';
import { byTool, hasRuns, waysOn } from './ways-on.ts';

async function configWith(toolsets: string) {
  const { path, home, remove } = createTempWorkspace();
  const flags = { workspace: path, toolsets };
  const config = await loadConfig(flags, { HOME: home });
  remove();
  return config;
}

test.each(['runs', 'spawn,runs', 'all'])(
  'a server with the toolsets %s names its tools as the next calls',
  async (toolsets) => {
    const config = await configWith(toolsets);
    expect(hasRuns(config)).toBe(true);
    expect(waysOn(config)).toBe(byTool);
  }
);

test.each(['spawn', 'squad,council'])(
  'a server with the toolsets %s names commands as the next calls',
  async (toolsets) => {
    const config = await configWith(toolsets);
    expect(hasRuns(config)).toBe(false);
    const ways = waysOn(config);
    expect(ways.wait('1a2b')).toContain('troupe wait 1a2b');
    expect(ways.result('1a2b')).toContain('troupe result 1a2b');
    const texts = Object.values(ways).map((way) =>
      typeof way === 'string' ? way : way('1a2b')
    );
    expect(texts.join('\n')).not.toContain('wait_for_agents');
  }
);

test('a tool call names its agent or its squad', () => {
  expect(byTool.wait('1a2b')).toContain('"agent_ids":["1a2b"]');
  expect(byTool.result('1a2b')).toContain('"agent_id":"1a2b"');
  expect(byTool.waitForSquad('s1')).toContain('"squadId":"s1"');
});
