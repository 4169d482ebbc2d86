import {
  chmodSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  writeFileSync
} from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect } from 'vitest';
import {
  launchScript,
  processesOf
} from '../../../test/kit/agents/pane-agent.ts';
import { until } from '../../../test/kit/judges/until.ts';
import {
  programs,
  type TmuxStage,
  testTmux,
  tmuxStage
} from '../../../test/kit/workspaces/tmux-stage.ts';
import { claimOf, exitCodeOf } from '../../core/runs/run-files.ts';
import { locate } from '../child-process/locate.ts';
import { thisNamespace } from '../child-process/process-table.ts';
import { createProcesses } from '../child-process/processes.ts';

let stage: TmuxStage;
const processes = createProcesses(programs);

beforeEach(() => {
  stage = tmuxStage();
});

afterEach(() => stage.stop());

const tells = `
const { renameSync, writeFileSync } = require('node:fs');
const { argv, env } = process;
const isTerminal = [0, 1, 2].every((n) => require('node:tty').isatty(n));
const facts = { argv: argv.slice(1), env, isTerminal, cwd: process.cwd() };
writeFileSync('facts.tmp', JSON.stringify(facts));
renameSync('facts.tmp', 'facts');
setInterval(() => undefined, 1000);
`;

testTmux('a program gets every value unchanged, and a terminal', async () => {
  const environment = {
    ODD: '\n\'"`$(id)\\\n\n #{pid};\t\u0081 한국어 ',
    EMPTY: '',
    value: 'v',
    line: '-n',
    file: 'f',
    IFS: 'a',
    TERM: 'wrong',
    TMUX_PANE: '%99'
  };
  const args = ['', '-n', 'x\ny\n', '$HOME', "a'b", '\\', '*', '한국어', ';'];
  stage.tmux('set-environment', '-g', 'FROM_THE_SERVER', 'x');
  const { pane, wrote, directory } = await launchScript(
    stage,
    stage.terminal(),
    '',
    {
      command: process.execPath,
      args: ['-e', tells, '--', ...args],
      environment
    }
  );
  const { argv, env, isTerminal, cwd } = JSON.parse(await wrote('facts'));
  expect(argv).toEqual(args);
  const { TERM, TMUX_PANE, PATH, TROUPE_AGENT_DIR, ...others } = env;
  expect(others).toMatchObject({
    ODD: environment.ODD,
    EMPTY: '',
    value: 'v',
    line: '-n',
    file: 'f'
  });
  expect(others).not.toHaveProperty('FROM_THE_SERVER');
  expect([TROUPE_AGENT_DIR, PATH]).toEqual([directory, process.env.PATH]);
  expect(TERM).toMatch(/^(tmux|screen)/);
  expect(TMUX_PANE).toBe(pane.paneId);
  expect(isTerminal).toBe(true);
  expect(cwd).toBe(stage.path);
});

testTmux(
  'no secret is in an argument or in a file that other users can read',
  async () => {
    const secret = 'sk-very-secret';
    const bin = join(stage.path, 'bin');
    mkdirSync(bin);
    writeFileSync(
      join(bin, 'tmux'),
      `#!/bin/sh\nprintf '%s\\n' "$@" >>'${stage.path}/calls'\nexec '${locate('tmux')}' "$@"\n`
    );
    chmodSync(join(bin, 'tmux'), 0o755);
    const terminal = stage.terminal({ PATH: `${bin}:${process.env.PATH}` });
    const { directory, claimed, wrote } = await launchScript(
      stage,
      terminal,
      'printf "$KEY" >key.tmp; mv key.tmp key; exec sleep 100',
      { environment: { KEY: secret } }
    );
    await claimed();
    expect(await wrote('key')).toBe(secret);
    expect(await wrote('calls')).toContain('respawn-pane');
    expect(await wrote('calls')).not.toContain(secret);
    const pids = processesOf(directory);
    expect(pids.length).toBeGreaterThan(1);
    for (const pid of pids)
      expect(readFileSync(`/proc/${pid}/cmdline`, 'utf8')).not.toContain(
        secret
      );
    for (const name of readdirSync(directory)) {
      const path = join(directory, name);
      expect(readFileSync(path, 'utf8')).not.toContain(secret);
      expect(statSync(path).mode & 0o077).toBe(0);
    }
  }
);

testTmux('Ctrl-C reaches the program, and its exit is recorded', async () => {
  const agent = await launchScript(
    stage,
    stage.terminal(),
    'trap "exit 9" INT; : >up; while :; do sleep 0.05; done'
  );
  await agent.wrote('up');
  stage.tmux('send-keys', '-t', agent.pane.paneId, 'C-c');
  expect(await exitOf(agent.directory)).toBe(9);
});

testTmux('the quit key ends the program, and is recorded', async () => {
  const agent = await launchScript(
    stage,
    stage.terminal(),
    'ulimit -c 0; : >up; exec sleep 100'
  );
  await agent.wrote('up');
  stage.tmux('send-keys', '-t', agent.pane.paneId, 'C-\\');
  expect(await exitOf(agent.directory)).toBe(128 + 3);
});

testTmux('a program in a pane is stopped and read like any agent', async () => {
  const terminal = stage.terminal();
  const { directory, pane, request, claimed, wrote } = await launchScript(
    stage,
    terminal,
    'echo last words; trap "" HUP; sleep 100 & : >up; exec sleep 100'
  );
  const { supervisor } = await claimed();
  // A shell that has just been forked may miss SIGTERM.
  await wrote('up');
  expect(supervisor && processes.liveness(supervisor)).toBe('alive');
  const report = await processes.stop({ directory, place: thisNamespace() });
  expect(report.survivors).toEqual([]);
  expect(await exitOf(directory)).toBe(143);
  await until('the pane to be dead', async () => {
    const [state] = await terminal.panes([]);
    return state?.isDead || undefined;
  });
  expect(processesOf(directory)).toEqual([]);
  expect(await terminal.screen(pane, 5)).toEqual(['last words']);
  const next = stage.agentFolder('next');
  const args = ['-c', 'echo again; : >again; exec sleep 100'];
  await terminal.launch(pane, { ...request, args, directory: next });
  await until('its claim', () => claimOf(next, thisNamespace())?.supervisor);
  await until(
    'the second program',
    async () => (await terminal.screen(pane, 5)).includes('again') || undefined
  );
  expect(await terminal.screen(pane, 5)).toEqual(['again']);
});

const stubborn =
  'trap "" HUP; (trap "" HUP TERM; exec sleep 100) & sleep 100 & : >up; wait; sleep 100';

testTmux('no process survives when the user closes the pane', async () => {
  const agent = await launchScript(stage, stage.terminal(), stubborn);
  const { supervisor } = await agent.claimed();
  await agent.wrote('up');
  stage.tmux('kill-pane', '-t', agent.pane.paneId);
  await nothingLeft(agent.directory);
  expect(supervisor && processes.liveness(supervisor)).toBe('dead');
});

testTmux('no process survives when the tmux server is killed', async () => {
  const agent = await launchScript(stage, stage.terminal(), stubborn);
  const { supervisor } = await agent.claimed();
  await agent.wrote('up');
  process.kill(
    Number(stage.tmux('display-message', '-p', '#{pid}')),
    'SIGKILL'
  );
  await nothingLeft(agent.directory);
  expect(supervisor && processes.liveness(supervisor)).toBe('dead');
  const terminal = stage.terminal();
  expect(await terminal.screen(agent.pane, 5)).toEqual([]);
  await terminal.close(agent.pane);
});

testTmux('a missing working directory is reported on the screen', async () => {
  const terminal = stage.terminal();
  const { pane } = await launchScript(stage, terminal, 'echo x', {
    cwd: join(stage.path, 'gone')
  });
  const words = await until('its words', async () => {
    const lines = await terminal.screen(pane, 5);
    return lines.length > 0 ? lines.join('') : undefined;
  });
  expect(words).toContain('gone');
});

testTmux('nothing is started in a pane of another agent', async () => {
  const terminal = stage.terminal();
  const { pane, request } = await launchScript(stage, terminal, 'sleep 100');
  for (const other of [
    { ...pane, agentId: 'a2' },
    { ...pane, paneId: '%0' },
    { ...pane, paneId: '%99' }
  ])
    await expect(terminal.launch(other, request)).rejects.toMatchObject({
      code: 'terminal_failed'
    });
});

function exitOf(directory: string): Promise<number> {
  return until('its exit code', () => exitCodeOf(directory));
}

async function nothingLeft(directory: string): Promise<void> {
  await until('all its processes to end', () =>
    processesOf(directory).length === 0 ? true : undefined
  );
}
