import type { Command } from 'commander';
import type { Config } from '../../../config/config.ts';
import { pathsOf } from '../../../core/paths/paths.ts';
import { RunStore } from '../../../core/runs/run-store.ts';
import { agentIdIn, noSuchAgent } from '../../output/agents.ts';
import { exitWith } from '../../process/process-end.ts';
import { addWorkspaceFlags, parseSeconds } from '../command-options.ts';
import {
  addStartFlags,
  promptFrom,
  type StartFlags,
  startAgent
} from './follow.ts';

interface ContinueFlags extends StartFlags {
  timeout?: number;
}

export function addContinue(program: Command): void {
  addWorkspaceFlags(
    addStartFlags(
      program
        .command('continue')
        .description("continue an agent's session and print the answer")
        .argument('<id>', 'of an agent, or its beginning; see: troupe list')
        .argument('[prompt]', 'the next task; read from stdin as with run')
        .option('--timeout <seconds>', 'stop it after this', parseSeconds)
    ),
    [
      'troupe continue 1a2b3c4d "now write the tests"',
      'npm test 2>&1 | troupe continue 1a2b3c4d -',
      'troupe continue 1a2b3c4d "and the docs" -b'
    ]
  ).action(async (id: string, prompt: string | undefined, flags) =>
    exitWith(await continueAgent(id, await promptFrom(prompt), flags))
  );
}

function continueAgent(
  typed: string,
  prompt: string,
  flags: ContinueFlags
): Promise<number> {
  const engineOf = ({ workspace, home }: Config) => {
    const store = new RunStore(pathsOf(workspace, home).record);
    return store.recordOf(agentIdIn(store, typed))?.engine;
  };
  return startAgent(flags, engineOf, async (host) => {
    const agentId = agentIdIn(host.store, typed);
    if (!host.store.has(agentId)) throw noSuchAgent(agentId, host);
    return host.continue({ agentId, prompt, timeoutSeconds: flags.timeout });
  });
}
