/** Workers of the rehearsal engine, in the background or in a private tmux. */
import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createWorkspace, startServer } from './support.mjs';

/** A workspace whose workers run on `backend`, and its master. */
export async function startStage(options, backend) {
  const workspace = createWorkspace();
  workspace.env = { TMUX_TMPDIR: workspace.base };
  const config = {
    toolsets: ['orchestrator'],
    engines: { rehearsal: {} },
    orchestrator: { backend, engine: 'rehearsal' }
  };
  workspace.file(
    join('workspace', 'troupe.config.json'),
    JSON.stringify(config)
  );
  const master = await startServer(options, workspace);
  return {
    workspace,
    master,
    create: async (name, role = 'You do what the tasks say.') => {
      const { data } = await master.call('agent_create', { name, role });
      return data.agent_id;
    },
    end: (agent_id) => master.call('agent_delete', { agent_id, force: true }),
    close: async () => {
      await master.close();
      if (backend === 'tmux') endTmux(workspace);
      workspace.remove();
    }
  };
}

export function hasTmux() {
  return spawnSync('tmux', ['-V']).status === 0;
}

/** Milliseconds of processor time so far, by the kind of process. */
export function cpuMsOf(workspace) {
  const spent = { servers: 0, programs: 0 };
  for (const pid of readdirSync('/proc').filter((name) => /^\d/.test(name))) {
    const command = textOf(pid, 'cmdline').split('\0');
    if (command.includes('--agent-id') && command.includes(workspace.path))
      spent.servers += cpuMs(pid);
    else if (textOf(pid, 'environ').includes(`=${workspace.record}/`))
      spent.programs += cpuMs(pid);
  }
  return spent;
}

function cpuMs(pid) {
  const tasks = `/proc/${pid}/task`;
  return readdirSync(tasks)
    .map((task) => readFileSync(join(tasks, task, 'schedstat'), 'utf8'))
    .reduce((sum, text) => sum + Number(text.split(' ')[0]) / 1e6, 0);
}

function textOf(pid, name) {
  try {
    return readFileSync(`/proc/${pid}/${name}`, 'utf8');
  } catch {
    return '';
  }
}

/** Kills the tmux server, which usually exits with its last pane. */
function endTmux({ env }) {
  const { TMUX, ...rest } = process.env;
  spawnSync('tmux', ['kill-server'], { env: { ...rest, ...env } });
}
