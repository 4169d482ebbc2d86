/**
 * Similar servers from npm, at pinned versions: how each starts, and how it
 * runs the program of an agent. They are installed into .cache/peers once and
 * are not dependencies.
 */
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { installEngines } from '../../scripts/install-engines.mjs';

const folder = join(import.meta.dirname, '..', '..', '.cache', 'peers');

/**
 * Node starts a `file`; a `program` is started directly. `run` is a call that
 * waits for the answer of an agent's program. `track` is for servers that
 * follow agents in the background: the calls that start, await, list and read
 * agents, and the file with the output of the program. `not` says why a server
 * has neither.
 */
const known = [
  {
    name: '@choplin/mcp-gemini-cli',
    version: '0.2.0',
    file: 'dist/index.js',
    run: (prompt) => ['geminiChat', { prompt }]
  },
  {
    name: '@kkweon/agent-orchestrator-mcp',
    version: '1.4.3',
    file: 'dist/index.js',
    not: 'types into tmux panes and reads no answers'
  },
  {
    name: '@ralphkrauss/agent-orchestrator',
    version: '0.3.7',
    file: 'dist/cli.js',
    track: {
      start: (prompt, cwd) => [
        'start_worker',
        { backend: 'claude', prompt, cwd }
      ],
      idOf: (data) => data.run_id,
      wait: (run_id) => ['wait_for_worker', { run_id, wait_seconds: 20 }],
      list: ['list_workers', {}],
      result: (run_id) => ['get_worker_result', { run_id }],
      lengthOf: ({ result }) => result?.summary.length,
      output: ({ home }, id) =>
        join(home, '.agent-orchestrator', 'runs', id, 'stdout.log')
    }
  },
  {
    name: '@steipete/claude-code-mcp',
    version: '1.10.12',
    file: 'dist/server.js',
    run: (prompt, workFolder) => ['claude_code', { prompt, workFolder }]
  },
  {
    name: 'codex-mcp-server',
    version: '1.4.10',
    file: 'dist/index.js',
    run: (prompt, workingDirectory) => ['codex', { prompt, workingDirectory }]
  },
  {
    name: 'agents-council-linux-x64',
    version: '0.4.0',
    program: 'council',
    args: ['mcp'],
    not: 'lets agents talk; its tools start none'
  }
];

/** troupe in the same form. @param engine the engine of its agents */
export function troupe(path, engine = 'claude') {
  return {
    name: 'troupe',
    path,
    args: ['mcp'],
    track: {
      start: (prompt) => [`spawn_${engine}`, { prompt }],
      idOf: (data) => data.agent_id,
      wait: (id) => ['wait_for_agents', { agent_ids: [id] }],
      list: ['list', {}],
      result: (agent_id) => ['result', { agent_id }],
      lengthOf: (data) => data.total_chars ?? data.result?.length,
      output: (stage, id) => join(stage.record, 'spawns', id, 'stdout')
    }
  };
}

export function isOurs({ name }) {
  return name === 'troupe';
}

/** The name in a table. */
export function titleOf({ name, version }) {
  return version === undefined ? name : `${name} ${version}`;
}

/** The peers for this platform. */
export function peersHere() {
  const here = `-${process.platform}-${process.arch}`;
  return known.filter(({ name, program }) => !program || name.endsWith(here));
}

/** Installs the peers for this platform. @throws Error of npm */
export function installPeers() {
  const own = peersHere();
  const wanted = Object.fromEntries(
    own.map(({ name, version }) => [name, version])
  );
  const note = join(folder, 'installed.json');
  const text = JSON.stringify(wanted);
  if (!existsSync(note) || readFileSync(note, 'utf8') !== text) {
    rmSync(note, { force: true });
    installEngines(folder, wanted, ['--ignore-scripts']);
    writeFileSync(note, text);
  }
  return own.map((peer) => ({
    ...peer,
    path: join(folder, 'node_modules', peer.name, peer.file ?? peer.program)
  }));
}
