import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { until } from '../../kit/judges/until.ts';
import type { McpClient } from '../../kit/servers/mcp-client.ts';
import {
  answerOf,
  eventsOf,
  refusalOf,
  typesOf,
  workerIs,
  workersSeen
} from '../../kit/servers/orchestrator-calls.ts';
import {
  type Backend,
  backends,
  createOrchestratorStage,
  type OrchestratorStage
} from '../../kit/servers/orchestrator-stage.ts';
import { testTmux } from '../../kit/workspaces/tmux-stage.ts';

/** Engines whose programs never ask for work, each in its own way. */
const programs = {
  leaves: `console.log('Welcome.\\nYou are not logged in. Run: leaves login');
    console.error('(no token in the keychain)');
    setTimeout(() => process.exit(7), 200);`,
  asks: `process.stdout.write('Do you trust this folder?\\n> 1. Yes\\n  2. No\\n');
    setInterval(() => undefined, 1e6);`,
  mute: 'setInterval(() => undefined, 1e6);',
  stubborn: `process.on('SIGTERM', () => console.log('no'));
    process.on('SIGHUP', () => undefined);
    console.log('I stay.'); setInterval(() => undefined, 1e6);`
};

const readyTimeoutSeconds = 2;
/** For programs that are not to run into their limit. */
const patient = 30;

describe.each(backends)('agent_create that fails (%s)', (backend) => {
  const testHere = backend === 'tmux' ? testTmux : test;
  let stage: OrchestratorStage;
  let master: McpClient;
  let patientMaster: McpClient;

  beforeAll(async () => {
    stage = createOrchestratorStage(backend, {
      settings: { readyTimeoutSeconds },
      config: { plugins }
    });
    for (const [name, body] of Object.entries(programs)) {
      stage.program(name, body);
      stage.write(`${name}.mjs`, engine(name));
    }
    stage.write('patient.json', patientConfig(backend));
    master = await stage.serve();
    const flags = ['--config', 'patient.json'];
    patientMaster = await stage.serve({ flags });
  });

  afterAll(() => stage?.close());

  const agents = () =>
    backend === 'tmux'
      ? stage
          .screen()
          .panes()
          .flatMap(({ agent }) => agent || [])
      : [];

  async function failed(name: keyof typeof programs, by = master) {
    const began = performance.now();
    const { error_code, error, hint, screen } = await refusalOf(
      by,
      'agent_create',
      {
        name: `the ${name} one`,
        role: 'rehearse',
        engine: name
      }
    );
    const tookMs = performance.now() - began;
    expect(error_code).toBe('not_ready');
    expect(error).toContain(`the ${name} one`);
    expect(hint).toContain(`Start ${name} once by hand`);
    const worker = (await workersSeen(master, 'all')).find(
      (one) => one.engine === name
    );
    expect(worker).toMatchObject({ status: 'crashed', tmux_pane_id: null });
    expect(stage.processes(worker?.agent_id ?? '')).toEqual([]);
    expect(agents()).toEqual([]);
    const types = typesOf(await eventsOf(master, worker?.agent_id ?? ''));
    expect(types).toEqual(['<crashed>']);
    // What a program says stands in no field of ours.
    expect(screen.filter((line) => error.includes(line))).toEqual([]);
    return { error, screen, tookMs };
  }

  testHere('shows the words of a program that exits', async () => {
    const { error, screen, tookMs } = await failed('leaves', patientMaster);
    expect(error).toContain('it ended with 7');
    expect(screen).toContain('You are not logged in. Run: leaves login');
    expect(screen).toContain('(no token in the keychain)');
    // No caller waits for an ended worker.
    expect(tookMs).toBeLessThan(1000 * patient);
  });

  testHere('shows the question that a program waits with', async () => {
    const { error, screen, tookMs } = await failed('asks');
    expect(error).toContain('did not call wait_for_command within 2 s');
    expect(screen).toEqual([
      'Do you trust this folder?',
      '> 1. Yes',
      '  2. No'
    ]);
    expect(tookMs).toBeGreaterThanOrEqual(1000 * readyTimeoutSeconds);
    expect(tookMs).toBeLessThan(20_000);
  });

  testHere('says that a program has said nothing', async () => {
    const { error } = await failed('mute');
    expect(error).toContain('It printed nothing.');
  });

  testHere('ends a program that does not want to end', async () => {
    const { screen, tookMs } = await failed('stubborn');
    expect(screen).toContain('I stay.');
    expect(tookMs).toBeLessThan(20_000);
  });

  testHere('leaves nothing of a worker whose client leaves', async () => {
    const args = { name: 'left', role: 'rehearse', engine: 'mute' };
    const flags = ['--config', 'patient.json'];
    const leaving = await stage.serve({ flags });
    leaving.call('agent_create', args).catch(() => undefined);
    const id = await until('its program', async () => {
      const living = (await workersSeen(master)).find(
        ({ name, status }) => name === 'left' && status === 'starting'
      );
      const started = living && stage.processes(living.agent_id).length > 1;
      return started ? living.agent_id : undefined;
    });
    await leaving.close();
    await workerIs(master, id, 'crashed');
    await until('its end', () => stage.processes(id).length === 0 || undefined);
    await until('its pane', () => agents().length === 0 || undefined);
  });

  testHere('can be ended before it has failed', async () => {
    const making = patientMaster.call('agent_create', {
      name: 'ended',
      role: 'rehearsal: hang',
      engine: 'stubborn'
    });
    const id = await until('its program', async () => {
      const living = (await workersSeen(master)).find(
        ({ name, status }) => name === 'ended' && status === 'starting'
      );
      const started = living && stage.processes(living.agent_id).length > 1;
      return started ? living.agent_id : undefined;
    });
    await answerOf(master, 'agent_delete', { agent_id: id, force: true });
    const { isError, data } = await making;
    expect(isError).toBe(true);
    expect(data).toMatchObject({ error_code: 'not_ready' });
    expect(data.error).toContain('it was deleted');
    expect(stage.processes(id)).toEqual([]);
    expect(agents()).toEqual([]);
  });
});

describe('the pane of a worker that failed', () => {
  testTmux('stays to be looked at where it is wanted', async () => {
    const stage = createOrchestratorStage('tmux', {
      settings: { readyTimeoutSeconds, keepFailedPane: true },
      config: { plugins: ['./asks.mjs'] }
    });
    try {
      stage.program('asks', programs.asks);
      stage.write('asks.mjs', engine('asks'));
      const master = await stage.serve();
      const args = { name: 'asks', role: 'rehearse', engine: 'asks' };
      await refusalOf(master, 'agent_create', args);
      const [worker] = await workersSeen(master, 'all');
      const agent_id = worker?.agent_id ?? '';
      const { tmux, panes } = stage.screen();
      const pane = panes().find(({ agent }) => agent === agent_id);
      expect(stage.processes(agent_id)).toEqual([]);
      const whole = ['-p', '-S', '-100', '-t', pane?.id ?? ''];
      expect(tmux('capture-pane', ...whole)).toContain(
        'Do you trust this folder?'
      );
      await answerOf(master, 'agent_delete', { agent_id });
      await until(
        'its pane to close',
        () => panes().every(({ agent }) => agent === '') || undefined
      );
    } finally {
      await stage.close();
    }
  });
});

const plugins = Object.keys(programs).map((name) => `./${name}.mjs`);

function patientConfig(backend: Backend): string {
  return JSON.stringify({
    toolsets: ['orchestrator'],
    plugins,
    orchestrator: { backend, readyTimeoutSeconds: patient }
  });
}

function engine(name: string): string {
  return `export default {
    kind: 'cli', name: '${name}', description: 'For tests.', command: '${name}',
    access: { read: 'enforced', write: 'enforced', full: 'enforced' },
    args: () => [], connect: () => ({ args: [] }),
    interactive: { args: () => [] }
  };\n`;
}
