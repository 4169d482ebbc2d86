import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  processEnvironments,
  processTable
} from '../../../src/adapters/child-process/process-table.ts';
import { verifyJournal } from '../../../src/core/audit/journal/verify.ts';
import { createTempWorkspace, type TempWorkspace } from './temp-workspace.ts';

/** One line of a stand-in: it began, or it was about to exit. */
export interface Step {
  what: 'start' | 'end';
  name: string;
}

/** A workspace whose engine `step` is a cheap program that records its steps. */
export interface StepWorkspace extends TempWorkspace {
  /** What the stand-ins did, in order. */
  steps: () => Step[];
  /** Agents whose processes are still there, by id. */
  survivors: () => string[];
  /** Text of IAC.md; empty when there is none. */
  iac: () => string;
  /** Texts of IAC.md and of its archive. */
  logged: () => string[];
  verify: () => ReturnType<typeof verifyJournal>;
}

/** The prompt: a name, seconds to sleep, and the exit code. */
const program = `#!/bin/sh
read -r name seconds code
echo "start $name" >>steps.log
sleep "$seconds"
echo "did $name"
echo "end $name" >>steps.log
exit "$code"
`;

export function stepPrompt(name: string, seconds: number, code = 0): string {
  return `${name} ${seconds} ${code}\n`;
}

export function createStepWorkspace(): StepWorkspace {
  const workspace = createTempWorkspace();
  const path = (name: string) => join(workspace.path, name);
  workspace.write('steps.log', '');
  workspace.write('step.sh', program);
  workspace.write(
    'step.mjs',
    `export default ${JSON.stringify({
      kind: 'cli',
      name: 'step',
      description: 'Tells when it starts and ends.',
      command: '/bin/sh'
    }).slice(0, -1)}, args: () => [${JSON.stringify(path('step.sh'))}] };\n`
  );
  // Hundreds of its agents are started at once.
  const settings = { plugins: ['./step.mjs'], maxSpawnsPerMinute: 0 };
  workspace.write('.trouperc.json', JSON.stringify(settings));
  return {
    ...workspace,
    steps: () =>
      textOf(path('steps.log'))
        .split('\n')
        .filter(Boolean)
        .map((line) => {
          const [what, name = ''] = line.split(' ');
          return { what: what === 'start' ? 'start' : 'end', name };
        }),
    survivors: () => agentsAlive(workspace),
    iac: () => textOf(path('logs/IAC.md')),
    logged: () =>
      [
        path('logs/IAC.md'),
        ...filesIn(path('logs/archive')).filter((name) => /\.md$/.test(name))
      ].map(textOf),
    verify: () =>
      verifyJournal(
        join(workspace.record, 'iac.jsonl'),
        join(workspace.record, 'heads')
      )
  };
}

/** Agents with a process that carries their mark, zombies aside. */
export function agentsAlive({ record }: TempWorkspace): string[] {
  const spawns = join(record, 'spawns');
  const alive = new Set<string>();
  const pids = processTable()
    .filter((entry) => !entry.zombie)
    .map((entry) => entry.pid);
  for (const text of processEnvironments(pids).values()) {
    const mark = text
      .split('\0')
      .find((line) => line.startsWith(`TROUPE_AGENT_DIR=${spawns}/`));
    if (mark) alive.add(mark.slice(-8));
  }
  return [...alive];
}

function filesIn(directory: string): string[] {
  return existsSync(directory)
    ? readdirSync(directory).map((name) => join(directory, name))
    : [];
}

function textOf(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}
