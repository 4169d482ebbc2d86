import { existsSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect } from 'vitest';
import { processesOf } from '../../../test/kit/agents/pane-agent.ts';
import { until } from '../../../test/kit/judges/until.ts';
import { needing } from '../../../test/kit/workspaces/needs.ts';
import {
  programs,
  type TmuxStage,
  tmuxStage
} from '../../../test/kit/workspaces/tmux-stage.ts';
import { claimOf, exitCodeOf } from '../../core/runs/run-files.ts';
import { locate } from '../child-process/locate.ts';
import { thisNamespace } from '../child-process/process-table.ts';
import { supervisorArguments } from '../child-process/supervise.ts';

let stage: TmuxStage;

beforeEach(() => {
  stage = tmuxStage();
});

afterEach(() => stage.stop());

describe.each(['dash', 'busybox', 'bash'])(
  'the supervisor in a pane, run by %s',
  (name) => {
    const shell = locate(name);
    const testHere = needing(
      `${name} and tmux`,
      shell !== undefined && locate('tmux') !== undefined
    );

    testHere('passes keys to the program and records the exit', async () => {
      const directory = await start('trap "exit 9" INT');
      stage.tmux('send-keys', '-t', '%0', 'C-c');
      expect(await until('its exit', () => exitCodeOf(directory))).toBe(9);
    });

    testHere('leaves no process behind when the pane is closed', async () => {
      const directory = await start('trap "" HUP; sleep 100 &');
      expect(processesOf(directory).length).toBeGreaterThan(3);
      stage.tmux('split-window', '-d', 'exec cat');
      stage.tmux('kill-pane', '-t', '%0');
      await until(
        'all its processes to end',
        () => processesOf(directory).length === 0 || undefined
      );
    });

    testHere('ends a paused program at its time limit', async () => {
      const directory = await start('trap "" INT', 1);
      expect(await until('its exit', () => exitCodeOf(directory))).toBe(143);
    });

    /** Starts a script that keeps running; resolves when it is ready. */
    async function start(script: string, timeoutSeconds = 0): Promise<string> {
      const directory = stage.agentFolder('agent');
      const called = join(stage.path, 'sh');
      symlinkSync(shell ?? '', called);
      const up = join(stage.path, 'up');
      const request = {
        agentId: 'a1',
        directory,
        command: '/bin/sh',
        args: [
          '-c',
          `${script}\n: >"$1"; while :; do sleep 0.05; done`,
          'agent',
          up
        ],
        cwd: stage.path,
        environment: {},
        timeoutSeconds,
        idleTimeoutSeconds: 0,
        outputLimitBytes: 0,
        stopWithUs: false
      };
      const words = supervisorArguments(request, join(programs, 'reaper.cjs'));
      stage.tmux('set-option', '-w', 'remain-on-exit', 'on');
      stage.tmux(
        ...['respawn-pane', '-k', '-t', '%0', '/usr/bin/env', '-i'],
        ...[`PATH=${process.env.PATH}`, `TROUPE_AGENT_DIR=${directory}`],
        ...[called, ...words]
      );
      await until('the program', () => existsSync(up) || undefined);
      await until(
        'its watchdog',
        () => claimOf(directory, thisNamespace())?.watchdogs.length || undefined
      );
      return directory;
    }
  }
);
