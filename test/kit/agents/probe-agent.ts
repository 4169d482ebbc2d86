import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  processEntry,
  processEnvironments,
  processTable
} from '../../../src/adapters/child-process/process-table.ts';
import { until } from '../judges/until.ts';
import type { TempWorkspace } from '../workspaces/temp-workspace.ts';

const troupe = join(import.meta.dirname, '../../../dist/troupe.cjs');

/**
 * Makes `spawn_probe`: an agent that starts processes of every awkward kind.
 * Its prompt is `<mode> <file>`; the file appears, whole, when it is ready.
 *
 * zoo     hard to kill processes, their pids in the file; then it stops itself
 * freeze  stops its whole process group, supervisor included
 * leave   ends well, and leaves processes behind
 * nest    runs a troupe server itself; the file names the agent it spawned
 */
export function addProbeAgent(workspace: TempWorkspace): void {
  workspace.program('probe', probe);
  workspace.write('probe.mjs', plugin);
}

/** Pids by what they are, once the agent has written them all down. */
export async function zooOf(file: string): Promise<Map<string, number>> {
  const lines = await until('the agent to be ready', () => linesOf(file));
  return new Map(
    lines.map((line) => {
      const [name = '', pid] = line.split(' ');
      return [name, Number(pid)];
    })
  );
}

/** The file's lines; undefined while there is no such file. */
export function linesOf(file: string): string[] | undefined {
  try {
    return readFileSync(file, 'utf8').trim().split('\n');
  } catch {
    return undefined;
  }
}

/** Names of the processes that still run. */
export function survivorsOf(zoo: Map<string, number>): string[] {
  return [...zoo].filter(([, pid]) => isAlive(pid)).map(([name]) => name);
}

export function isAlive(pid: number | undefined): boolean {
  const entry = pid === undefined ? undefined : processEntry(pid);
  return entry !== undefined && !entry.zombie;
}

/** Every process that carries an agent's mark, its supervisor included. */
export function processesOf(agentId: string): number[] {
  const pids = processTable()
    .filter((entry) => !entry.zombie)
    .map((entry) => entry.pid);
  return [...processEnvironments(pids)]
    .filter(([, text]) => text.includes(`TROUPE_AGENT_ID=${agentId}\0`))
    .map(([pid]) => pid);
}

const plugin = `export default {
  kind: 'cli', name: 'probe', description: 'For tests.', command: 'probe',
  args: () => []
};`;

const probe = `
const { spawn } = require('node:child_process');
const fs = require('node:fs');
const [mode, file] = fs.readFileSync(0, 'utf8').trim().split(' ');
const draft = file + '.draft';
const count = () => {
  try { return fs.readFileSync(draft, 'utf8').trim().split('\\n').length; }
  catch { return 0; }
};
const publish = () => fs.renameSync(draft, file);
const sh = (script, detached = false, shell = 'sh') =>
  spawn(shell, ['-c', script, shell, draft], { stdio: 'ignore', detached });
const note = (name) => \`echo "\${name} $$" >>"$1"; exec sleep 1000\`;
const inner = (name) => \`sh -c '\${note(name)}' sh "$1"\`;

function zoo() {
  process.on('SIGTERM', () => {});
  fs.writeFileSync(draft, 'agent ' + process.pid + '\\n');
  sh(\`trap "" TERM; \${inner('grandchild')} & \${note('child')}\`);
  sh(\`set -m; \${inner('group')} & wait\`, false, 'bash');
  sh(note('session'), true);
  sh(\`(\${inner('daemon')} &)\`, true);
  sh(\`(env -i PATH="$PATH" \${inner('wiped')} &)\`);
  sh(\`(TROUPE_AGENT_DIR=/ \${inner('forged')} &)\`);
  sh('echo "stopped $$" >>"$1"; kill -STOP $$; exit');
  const timer = setInterval(() => {
    if (count() < 9) return;
    clearInterval(timer);
    publish();
    process.kill(process.pid, 'SIGSTOP');
  }, 10);
}

function freeze() {
  fs.writeFileSync(draft, 'agent ' + process.pid + '\\n');
  publish();
  process.kill(0, 'SIGSTOP');
}

function leave() {
  sh(note('child'));
  sh(\`(\${inner('daemon')} &)\`, true);
  sh(\`(env -i PATH="$PATH" \${inner('wiped')} &)\`);
  const timer = setInterval(() => {
    if (count() < 3) return;
    publish();
    process.stdout.write('left\\n', () => process.exit(0));
  }, 10);
}

function nest() {
  process.on('SIGTERM', () => {});
  setInterval(() => process.stdout.write('.'), 200);
  const server = spawn(
    process.execPath,
    [${JSON.stringify(troupe)}, 'mcp', '--workspace', process.cwd(), '--trust'],
    { stdio: ['pipe', 'pipe', 'inherit'] }
  );
  const send = (message) =>
    server.stdin.write(JSON.stringify({ jsonrpc: '2.0', ...message }) + '\\n');
  send({ id: 1, method: 'initialize', params: {
    protocolVersion: '2025-11-25', capabilities: {},
    clientInfo: { name: 'probe', version: '1' } } });
  send({ method: 'notifications/initialized' });
  send({ id: 2, method: 'tools/call', params: {
    name: 'spawn_rehearsal', arguments: { prompt: 'ignore-term\\nhang' } } });
  require('node:readline').createInterface({ input: server.stdout })
    .on('line', (line) => {
      const message = JSON.parse(line);
      if (message.id !== 2) return;
      fs.writeFileSync(draft, message.result.structuredContent.agent_id);
      publish();
    });
}

({ zoo, freeze, leave, nest })[mode]();
`;
