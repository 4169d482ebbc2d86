import { afterAll, expect, test } from 'vitest';
import { program } from '../../../../test/kit/agents/right-engines.ts';
import { createTempWorkspace } from '../../../../test/kit/workspaces/temp-workspace.ts';
import { type Config, loadConfig } from '../../../config/config.ts';
import {
  EngineRegistry,
  type PluginFault
} from '../../../core/engines/engine-registry.ts';
import { instructionsFor } from './instructions.ts';

const workspace = createTempWorkspace();

afterAll(() => workspace.remove());

async function instructionsWith(
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

test('the default instructions name spawn tools, squads and councils', async () => {
  const text = await instructionsWith();
  for (const word of [...usualWords, 'spawn_right'])
    expect(text).toContain(word);
  for (const word of workerWords) expect(text).not.toContain(word);
});

test('with all toolsets, the instructions name workers, too', async () => {
  const text = await instructionsWith('all');
  for (const word of allWords) expect(text).toContain(word);
  // A worker gets its own instructions.
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
  'with the toolsets %s, the instructions name no other tools',
  async (toolsets, present, absent) => {
    const text = await instructionsWith(toolsets);
    for (const word of present) expect(text).toContain(word);
    for (const word of absent) expect(text).not.toContain(word);
  }
);

test('the instructions name the file that people read', async () => {
  expect(await instructionsWith('all')).toContain(
    `logs/IAC.md in ${workspace.path}`
  );
  const alone = await instructionsWith('orchestrator');
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
  'the first line names the tools to search for (%s)',
  async (toolsets, served) => {
    const [first = '', second = ''] = (await instructionsWith(toolsets)).split(
      '\n'
    );
    expect(first).toMatch(/^Delegates work to other coding agents: /);
    const named = Object.entries(signs).filter(([, sign]) =>
      first.includes(sign)
    );
    expect(named.map(([toolset]) => toolset)).toEqual(served);
    expect(second).not.toBe('');
  }
);

test('the first line of a council server describes the council', async () => {
  expect(await instructionsWith('council')).toMatch(
    /^A council: .+\n.*start_council/
  );
});

const names = ['spawn', 'runs', 'squad', 'council', 'orchestrator'];
const combinations = Array.from({ length: 2 ** names.length - 1 }, (_, index) =>
  names.filter((_, bit) => (index + 1) & (1 << bit)).join()
);

test.each(combinations)(
  'with %s, the instructions stay short',
  async (toolsets) => {
    // A deep directory and failing plugins would exceed any limit.
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
  }
);

test('ignored plugins are named, with as much of the reason as fits', async () => {
  const problem = 'it threw while it was loaded: '.padEnd(300, 'x');
  const one = await instructionsWith(undefined, [
    { plugin: './a.mjs', problem }
  ]);
  expect(one).toContain(`./a.mjs (${problem.slice(0, 120)}).`);
  const many = Array.from({ length: 8 }, (_, index) => ({
    plugin: `./plugin-${index}.mjs`,
    problem
  }));
  const text = await instructionsWith(undefined, many);
  expect(text.length).toBeLessThanOrEqual(1500);
  for (const { plugin } of many) expect(text).toContain(`${plugin} (it threw`);
});
