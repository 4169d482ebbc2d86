import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { until } from '../judges/until.ts';
import type { TempWorkspace } from '../workspaces/temp-workspace.ts';

/**
 * Makes `spawn_gate`: an agent that answers "answer" at once, and ends well
 * when the file that its prompt names is there.
 */
export function addGateAgent(workspace: TempWorkspace): void {
  workspace.program(
    'gate',
    `const fs = require('node:fs');
    const gate = fs.readFileSync(0, 'utf8');
    console.log('answer');
    setInterval(() => fs.existsSync(gate) && process.exit(0), 20);`
  );
  workspace.write(
    'gate.mjs',
    `export default { kind: 'cli', name: 'gate', description: 'For tests.',
      command: 'gate', args: () => [] };`
  );
  workspace.write('troupe.config.json', '{"plugins": ["./gate.mjs"]}');
}

/** Its answer is on disk; it now waits for its file. */
export async function saidAnswer(
  { record }: TempWorkspace,
  agentId: string
): Promise<void> {
  const stdout = join(record, 'spawns', agentId, 'stdout');
  await until('its answer', () => readFileSync(stdout, 'utf8') !== '');
}
