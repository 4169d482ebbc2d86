import { afterAll, expect, test } from 'vitest';
import { builtinEngines, optionalEngines } from '../../../../plugins/index.ts';
import { createTempWorkspace } from '../../../../test/kit/workspaces/temp-workspace.ts';
import { lookingTools } from '../../../cli/clients/clients.ts';
import { loadConfig } from '../../../config/config.ts';
import { createHost, Host } from '../../../host/host.ts';
import { instructionsFor } from '../server/instructions.ts';
import { toolsOf } from '../server/offer.ts';

const workspace = createTempWorkspace();
// Every engine, and as many failing plugins as the configuration allows.
const engines = [...builtinEngines, ...optionalEngines].map(({ name }) => name);
const long = 'x'.repeat(26);
workspace.write(
  '.trouperc.json',
  JSON.stringify({
    engines: Object.fromEntries(engines.map((name) => [name, true])),
    plugins: [
      `./${long}.mjs`,
      ...Array.from({ length: 20 }, (_, index) => `./missing-${index}.mjs`)
    ]
  })
);
workspace.write(
  `${long}.mjs`,
  `export default { kind: 'cli', name: '${long}', command: 'x', args: () => [],
    description: '${'d'.repeat(500)}',
    models: { aliases: { ${'m'.repeat(90)}: 'x', ${'n'.repeat(90)}: 'y' } } };`
);
const config = await loadConfig(
  { workspace: workspace.path, toolsets: 'all', trust: true },
  {}
);
const host = await createHost(config);
const tools = toolsOf(host);
const councilNames = [
  'start_council',
  'join_council',
  'get_current_session_data',
  'wait_for_responses',
  'send_response',
  'summon_agent',
  'close_council'
];

afterAll(() => workspace.remove());

test('there is a tool for each engine, and tool names are unique', () => {
  const names = tools.map(({ name }) => name);
  for (const engine of engines)
    expect(names).toContain(`spawn_${engine.replaceAll('-', '_')}`);
  expect(new Set(names).size).toBe(names.length);
});

test('init has Codex approve exactly the tools that only look', () => {
  const looking = tools.filter(({ annotations }) => annotations.readOnlyHint);
  expect(looking.map(({ name }) => name)).toEqual(lookingTools);
});

test.each(tools.map((tool) => [tool.name, tool] as const))(
  '%s has a title and a description within the limits of all clients',
  (_, tool) => {
    expect(tool.name).toMatch(/^[a-z][a-z0-9_]{0,31}$/);
    expect(tool.title).not.toBe('');
    expect(tool.description.length).toBeGreaterThan(20);
    expect(tool.description.length).toBeLessThanOrEqual(600);
    expect(Object.keys(tool.annotations).sort()).toEqual([
      'destructiveHint',
      'idempotentHint',
      'openWorldHint',
      'readOnlyHint'
    ]);
    for (const hint of Object.values(tool.annotations))
      expect(typeof hint).toBe('boolean');
    const { readOnlyHint, destructiveHint } = tool.annotations;
    expect(readOnlyHint && destructiveHint).toBe(false);
  }
);

test('tools whose answers contain text of agents have the open-world hint', () => {
  const open = tools.filter(({ annotations }) => annotations.openWorldHint);
  expect(open.map(({ name }) => name)).toEqual(
    expect.arrayContaining([
      ...['list', 'result', 'wait_for_agents', 'second_opinion'],
      ...['start_squad_members', 'join_council', 'wait_for_responses'],
      ...['get_current_session_data', 'events_read']
    ])
  );
});

test.each(tools.map((tool) => [tool.name, tool] as const))(
  '%s takes a flat object without unknown parameters',
  (_, { inputSchema }) => {
    expect(inputSchema).toMatchObject({
      type: 'object',
      additionalProperties: false
    });
    expect(JSON.stringify(inputSchema)).not.toMatch(/\$ref|\$defs|\$schema/);
  }
);

test.each([
  ['result', 'offset'],
  ['events_read', 'more'],
  ['get_current_session_data', 'more']
])('%s, which may cut its answer, says how to get the rest', (name, by) => {
  const tool = tools.find((one) => one.name === name);
  expect(tool?.description).toMatch(new RegExp(`\\b${by}\\b`));
  expect(tool?.description).not.toMatch(/\ball responses\b/);
});

test('no schema has a text length, or null next to a type', () => {
  const schemas = tools.map(({ inputSchema }) => JSON.stringify(inputSchema));
  // Clients drop these, or spell them out for their model.
  const noise = /"(minLength|maxLength|pattern|minItems|maxItems|anyOf)":/;
  expect(schemas.filter((schema) => noise.test(schema))).toEqual([]);
  expect(schemas.join()).not.toContain(String(Number.MAX_SAFE_INTEGER));
});

test('a server that was started with a name does not ask for one', () => {
  const named = { ...config, councilDoor: { agentName: 'claude' } };
  const own = new Host(named, host.registry, host.keys);
  const all = toolsOf(own).filter(({ name }) => councilNames.includes(name));
  expect(all).toHaveLength(councilNames.length);
  for (const { name, inputSchema } of all)
    expect(JSON.stringify(inputSchema), name).not.toContain('agent_name');
});

test('the instructions stay short, whatever fails to load', () => {
  const where = '/home/me/code/a-project';
  const instructions = instructionsFor(host.registry, config, where);
  expect(instructions.length).toBeLessThanOrEqual(1500);
  const plugins = instructions.match(/missing-\d+/g) ?? [];
  expect(plugins.length).toBeGreaterThan(5);
  expect(instructions).toMatch(
    new RegExp(`; ${20 - plugins.length} more are in list\\.$`)
  );
});
