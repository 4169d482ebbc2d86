import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect } from 'vitest';
import { until } from '../../kit/judges/until.ts';
import {
  answerOf,
  createdWorker,
  enqueued,
  refusalOf,
  taskEnd,
  workersSeen
} from '../../kit/servers/orchestrator-calls.ts';
import {
  createOrchestratorStage,
  type OrchestratorStage,
  type StageOptions
} from '../../kit/servers/orchestrator-stage.ts';
import { type TmuxStage, testTmux } from '../../kit/workspaces/tmux-stage.ts';

let stage: OrchestratorStage;

afterEach(() => stage?.close());

function begin(options: StageOptions = {}): TmuxStage {
  stage = createOrchestratorStage('tmux', options);
  return stage.screen();
}

describe('workers in panes', () => {
  testTmux(
    'open where the master runs while the user looks elsewhere',
    async () => {
      const screen = begin({ size: [160, 48] });
      const { tmux } = screen;
      const home = stage.home;
      tmux('split-window', '-h', '-l', '50', '-t', 'main', '-c', home, 'cat');
      tmux('split-window', '-v', '-l', '12', '-t', 'main', '-c', '/', 'cat');
      const [first = '', second = '', third = ''] = paneIds(screen);
      for (const [id, title] of [
        [first, 'my editor'],
        [second, 'my logs'],
        [third, 'my shell']
      ] as const)
        tmux('select-pane', '-t', id, '-T', title);
      tmux('select-pane', '-t', second);
      tmux('new-session', '-d', '-s', 'elsewhere', '-x', '160', '-y', '48');
      tmux('new-window', '-t', 'elsewhere', 'cat');
      await screen.attach('elsewhere', 160, 48);
      const mine = () => tmux('list-panes', '-t', 'main', '-F', userFormat);
      const elsewhere = () =>
        tmux('list-panes', '-s', '-t', 'elsewhere', '-F', elsewhereFormat);
      const before = { mine: mine(), elsewhere: elsewhere() };
      const order = sizeOrder(screen, [first, second, third]);
      const master = await stage.serve();
      const made = await Promise.all(
        ['one', 'two', 'three'].map((name) => createdWorker(master, { name }))
      );
      const ids = made.map(({ tmux_pane_id }) => tmux_pane_id);
      expect(new Set(ids).size).toBe(3);
      const window = tmux('display', '-p', '-t', first, '#{window_id}');
      const shown = screen.panes();
      expect(shown.filter((pane) => pane.window === window)).toHaveLength(6);
      for (const { agent_id, tmux_pane_id } of made)
        expect(shown).toContainEqual(
          expect.objectContaining({
            id: tmux_pane_id,
            window,
            agent: agent_id
          })
        );
      const users = mine().split('\n').slice(0, 3).join('\n');
      expect(users).toBe(before.mine);
      expect(elsewhere()).toBe(before.elsewhere);
      expect(sizeOrder(screen, [first, second, third])).toEqual(order);
      for (const { agent_id, paths } of made) {
        const outbox = stage.lines(paths.outbox);
        expect(outbox.filter(({ type }) => type === 'ready')).toHaveLength(1);
        await enqueued(master, agent_id, 'hello', 'say hello');
      }
      for (const { agent_id } of made) await taskEnd(master, agent_id, 'hello');
      const here = await workersSeen(master, 'current_window');
      expect(here.map(({ agent_id }) => agent_id).toSorted()).toEqual(
        made.map(({ agent_id }) => agent_id).toSorted()
      );
      for (const { agent_id } of made)
        await answerOf(master, 'agent_delete', { agent_id });
      await until(
        'their panes to close',
        () => mine() === before.mine || undefined
      );
      expect(elsewhere()).toBe(before.elsewhere);
    }
  );

  testTmux('fit twelve into one window, none too small', async () => {
    const screen = begin({ size: [160, 48] });
    const master = await stage.serve();
    const made = await Promise.all(
      Array.from({ length: 12 }, (_, index) =>
        createdWorker(master, { name: `w${index}` })
      )
    );
    const shown = screen.panes();
    expect(shown).toHaveLength(13);
    expect(new Set(shown.map(({ window }) => window)).size).toBe(1);
    const agents = made.map(({ agent_id }) => agent_id);
    expect(shown.slice(1).map(({ agent }) => agent)).toEqual(
      expect.arrayContaining(agents)
    );
    const small = shown.filter(({ width, height }) => width < 20 || height < 5);
    expect(small).toEqual([]);
    expect(await workersSeen(master)).toHaveLength(12);
  });

  testTmux('are refused where a window is full, with no trace', async () => {
    const screen = begin({ size: [62, 11] });
    const master = await stage.serve();
    const refused = await until('a full window', async () => {
      const { data, isError } = await master.call('agent_create', {
        name: 'one more',
        role: 'rehearse'
      });
      return isError ? data : undefined;
    });
    expect(refused).toMatchObject({
      error_code: 'window_full',
      error: expect.stringContaining('62x11'),
      hint: expect.stringContaining('Enlarge')
    });
    const living = (await workersSeen(master)).filter(
      ({ status }) => status === 'ready'
    );
    expect(living.length).toBeGreaterThan(0);
    const shown = screen.panes();
    expect(shown.map(({ agent }) => agent).filter(Boolean)).toEqual(
      living.map(({ agent_id }) => agent_id)
    );
    const before = screen.snapshot();
    const again = { name: 'again', role: 'rehearse' };
    const { error_code } = await refusalOf(master, 'agent_create', again);
    expect(error_code).toBe('window_full');
    expect(screen.snapshot()).toBe(before);
    const all = await workersSeen(master, 'all');
    for (const { agent_id, status } of all)
      if (!living.some((one) => one.agent_id === agent_id)) {
        expect(status).toBe('crashed');
        expect(stage.processes(agent_id)).toEqual([]);
      }
    // One place is free again when one goes.
    const [{ agent_id = '' } = {}] = living;
    await answerOf(master, 'agent_delete', { agent_id });
    await createdWorker(master);
  });

  testTmux('show any name as it is, and run none of it', async () => {
    const screen = begin();
    const master = await stage.serve();
    const marks = ['format', 'shell', 'split'].map((mark) =>
      join(stage.home, mark)
    );
    const [format, shell, split] = marks;
    const name = `#(touch ${format}) #{pane_id} $(touch ${shell}) '"%1 😀`;
    const made = await createdWorker(master, {
      name: name.slice(0, 80),
      role: `rehearsal: say \`x\`\n#(touch ${format}); touch ${split}`,
      env: { ODD: `#(touch ${format}) ; touch ${split} $(touch ${shell})` }
    });
    const { agent_id, tmux_pane_id } = made;
    const pane = screen.panes().find(({ id }) => id === tmux_pane_id);
    expect(pane?.title).toBe(`${name.slice(0, 80)} (rehearsal)`);
    const [seen] = await workersSeen(master);
    expect(seen?.name).toBe(name.slice(0, 80));
    expect(stage.environments(agent_id).flat()).toContain(
      `ODD=#(touch ${format}) ; touch ${split} $(touch ${shell})`
    );
    expect(marks.filter((path) => existsSync(path))).toEqual([]);
  });

  testTmux('are refused in a terminal with no room for two', async () => {
    const screen = begin({ size: [20, 5] });
    const before = screen.snapshot();
    const master = await stage.serve();
    const refused = await refusalOf(master, 'agent_create', {
      name: 'no room',
      role: 'rehearse'
    });
    expect(refused.error_code).toBe('window_full');
    expect(refused.error).toContain('20x5');
    expect(screen.snapshot()).toBe(before);
  });
});

const userFormat =
  '#{pane_id} #{pane_title} #{pane_current_path} #{pane_active}';
const elsewhereFormat =
  '#{window_id} #{window_layout} #{window_active} #{pane_id} #{pane_active} #{pane_title}';

function paneIds({ tmux }: TmuxStage): string[] {
  return tmux('list-panes', '-t', 'main', '-F', '#{pane_id}').split('\n');
}

/** Panes from the largest to the smallest. */
function sizeOrder(screen: TmuxStage, ids: string[]): string[] {
  const areas = new Map(
    screen.panes().map(({ id, width, height }) => [id, width * height])
  );
  return ids.toSorted((a, b) => (areas.get(b) ?? 0) - (areas.get(a) ?? 0));
}
