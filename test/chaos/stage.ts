import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { locate } from '../../src/adapters/child-process/locate.ts';
import {
  canMount,
  makeSmallDisk,
  type SmallDisk
} from '../kit/workspaces/small-disk.ts';
import {
  createTempWorkspace,
  type TempWorkspace
} from '../kit/workspaces/temp-workspace.ts';
import { type TmuxStage, tmuxStage } from '../kit/workspaces/tmux-stage.ts';
import { limitMegabytes } from './behaviours.ts';
import { addChaosEngines, templateName } from './program.ts';

/** A workspace in which everything may happen. */
export interface ChaosStage extends TempWorkspace {
  /** Where agents write down what they did, which is never full. */
  facts: string;
  /** Holds the workspace and its record; undefined where mounts are refused. */
  disk: SmallDisk | undefined;
  terminal: TmuxStage | undefined;
  /** Of every server. */
  environment: Record<string, string>;
  /** Flags of a server whose new workers get panes. */
  inPanes: string[];
  /** A path below the record. */
  state: (...names: string[]) => string;
  /** Ends the terminal; `remove` also takes the files away. */
  close: (remove: boolean) => void;
}

const diskKilobytes = 700 * 1024;

export function createChaosStage(): ChaosStage {
  const disk = canMount() ? makeSmallDisk(diskKilobytes) : undefined;
  const workspace = createTempWorkspace(disk?.directory);
  const facts = mkdtempSync(join(tmpdir(), 'troupe-facts-'));
  const terminal = locate('tmux') ? tmuxStage(200, 60) : undefined;
  const { TMUX = '', TMUX_PANE = '' } = terminal?.environment ?? {};
  const config = {
    toolsets: ['spawn', 'runs', 'squad', 'council', 'orchestrator'],
    plugins: addChaosEngines(workspace, facts),
    engines: { rehearsal: {}, idler: { idleTimeoutSeconds: 2 } },
    maxConcurrent: 12,
    maxSpawnsPerMinute: 6000,
    outputLimitMegabytes: limitMegabytes,
    council: { scope: 'project' },
    squad: { engine: 'chaos' },
    iac: { entries: 60 },
    // So little that it is rotated again and again.
    journal: { megabytes: 0.04 }
  };
  const orchestrator = {
    backend: 'process',
    engine: 'rehearsal',
    restart: 'on-crash'
  };
  workspace.write(
    'troupe.config.json',
    JSON.stringify({ ...config, orchestrator })
  );
  const panes = workspace.write(
    'panes.config.json',
    JSON.stringify({
      ...config,
      orchestrator: { ...orchestrator, backend: 'tmux' }
    })
  );
  return {
    ...workspace,
    facts,
    disk,
    terminal,
    environment: terminal ? { TMUX, TMUX_PANE } : {},
    inPanes: ['--config', panes],
    state: (...names) => join(workspace.record, ...names),
    close: (remove) => {
      terminal?.stop();
      if (!remove) return;
      rmSync(facts, { recursive: true });
      workspace.remove();
      disk?.unmount();
    }
  };
}

/** Squads of a server with this run a program that is no engine of ours. */
export const withTemplate = { RUN_TEMPLATE_PATH: templateName };

const libraries = [
  '/usr/lib/x86_64-linux-gnu/faketime/libfaketime.so.1',
  '/usr/lib/aarch64-linux-gnu/faketime/libfaketime.so.1'
];

/** Undefined where there is no libfaketime. */
export function clockThatIs(hours: number): Record<string, string> | undefined {
  const library = libraries.find(existsSync);
  if (library === undefined) return undefined;
  return {
    LD_PRELOAD: library,
    FAKETIME: `${hours < 0 ? '-' : '+'}${Math.abs(hours)}h`,
    // Clocks jump; time that has passed does not.
    FAKETIME_DONT_FAKE_MONOTONIC: '1'
  };
}
