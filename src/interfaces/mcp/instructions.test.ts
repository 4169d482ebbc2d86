import { afterAll, expect, test } from 'vitest';
import { type Config, loadConfig } from '../../config.ts';
import {
  EngineRegistry,
  type PluginFault
} from '../../core/engines/engine-registry.ts';
import { program } from '../../testing/right-engines.ts';
import { createTempWorkspace } from '../../testing/temp-workspace.ts';
import { instructionsFor } from './instructions.ts';

const workspace = createTempWorkspace();

afterAll(() => workspace.remove());

async function told(
  toolsets?: string,
  faults: PluginFault[] = []
): Promise<string> {
  const flags = { workspace: workspace.path };
  const config: Config = await loadConfig(
    toolsets === undefined ? flags : { ...flags, toolsets },
    {}
  );
  return instructionsFor(new EngineRegistry([program], {}, faults), config);
}

const spawnWords = ['spawn', 'continue_agent', 'isolate'];
const squadWords = ['list_roles', 'start_squad_members', 'squadId'];
const councilWords = ['council', 'join_council', 'wait_for_responses'];
const workerWords = ['agent_create', 'task_enqueue', 'events_read'];
const usualWords = [...spawnWords, ...squadWords, ...councilWords];
const allWords = [...usualWords, ...workerWords];

test('by default a model hears of spawn tools, of squads and of councils', async () => {
  const text = await told();
  for (const word of [...usualWords, 'spawn_right'])
    expect(text).toContain(word);
  for (const word of workerWords) expect(text).not.toContain(word);
});

test('where all is asked for, it hears of workers too', async () => {
  const text = await told('all');
  for (const word of allWords) expect(text).toContain(word);
  // Whoever is one has instructions of its own.
  expect(text).not.toContain('wait_for_command');
});

test.each([
  ['spawn,runs', spawnWords, [...squadWords, ...councilWords, ...workerWords]],
  ['squad,runs', squadWords, [...spawnWords, ...councilWords, ...workerWords]],
  ['runs', ['wait_for_agents'], allWords],
  [
    'council',
    councilWords,
    [...spawnWords, ...squadWords, ...workerWords, 'wait_for_agents']
  ],
  ['orchestrator', workerWords, [...usualWords, 'wait_for_agents']]
])(
  'where %s are served it hears of nothing else',
  async (toolsets, there, absent) => {
    const text = await told(toolsets);
    for (const word of there) expect(text).toContain(word);
    for (const word of absent) expect(text).not.toContain(word);
  }
);

test('it is told what people read of what is served', async () => {
  expect(await told('all')).toContain(`logs/IAC.md in ${workspace.path}`);
  const alone = await told('orchestrator');
  expect(alone).toContain(`.agents/agents/*/outbox.jsonl in ${workspace.path}`);
  expect(alone).not.toContain('IAC.md');
});

const signs = {
  spawn: 'a spawn tool',
  squad: 'start_squad_members',
  council: 'council',
  orchestrator: 'agent_create'
};

test.each([
  [undefined, ['spawn', 'squad', 'council']],
  ['spawn', ['spawn']],
  ['squad', ['squad']],
  ['orchestrator', ['orchestrator']],
  ['all', Object.keys(signs)]
])(
  'the first line alone says what tools there are to look for (%s)',
  async (toolsets, served) => {
    const [first = '', second = ''] = (await told(toolsets)).split('\n');
    expect(first).toMatch(/^Delegates work to other coding agents: /);
    const heard = Object.entries(signs).filter(([, sign]) =>
      first.includes(sign)
    );
    expect(heard.map(([toolset]) => toolset)).toEqual(served);
    expect(second).not.toBe('');
  }
);

test('the first line of a council alone says that it is one', async () => {
  expect(await told('council')).toMatch(/^A council: .+\n.*start_council/);
});

const names = ['spawn', 'runs', 'squad', 'council', 'orchestrator'];
const combinations = Array.from({ length: 2 ** names.length - 1 }, (_, index) =>
  names.filter((_, bit) => (index + 1) & (1 << bit)).join()
);

test.each(combinations)('with %s they stay short', async (toolsets) => {
  // More than any client takes: a deep directory, and plugins that fail.
  const deep = `/${'a long directory/'.repeat(12)}`;
  const flags = { workspace: workspace.path, toolsets };
  const config = await loadConfig(flags, {});
  const faults = Array.from({ length: 30 }, (_, index) => ({
    plugin: `./plugin-${index}.mjs`,
    problem: 'x'.repeat(300)
  }));
  const registry = new EngineRegistry([program], {}, faults);
  const text = instructionsFor(registry, config, deep);
  expect(text.length).toBeLessThanOrEqual(1500);
  expect(text).toContain(deep);
});

test('plugins that were left out are named, and as much of why as fits', async () => {
  const problem = 'it threw while it was loaded: '.padEnd(300, 'x');
  const one = await told(undefined, [{ plugin: './a.mjs', problem }]);
  expect(one).toContain(`./a.mjs (${problem.slice(0, 120)}).`);
  const many = Array.from({ length: 8 }, (_, index) => ({
    plugin: `./plugin-${index}.mjs`,
    problem
  }));
  const text = await told(undefined, many);
  expect(text.length).toBeLessThanOrEqual(1500);
  for (const { plugin } of many) expect(text).toContain(`${plugin} (it threw`);
});
