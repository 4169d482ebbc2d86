/**
 * Measures change tracking: a whole run of a CLI that exits at once, in a git
 * repository with an uncommitted file, against the same run in the same files
 * without git.
 */
import { execFileSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { median, row } from './statistics.mjs';
import {
  createWorkspace,
  runBench,
  startServer,
  writeStandIn
} from './support.mjs';

const sizes = [20, 2000];

await runBench(20, async (options) => {
  const setups = [];
  const open = async (files, isRepository) => {
    const workspace = createWorkspace();
    fill(workspace.path, files);
    writeStandIn(workspace);
    if (isRepository) commit(workspace.path);
    const server = await startServer(options, workspace);
    const setup = { workspace, server, times: [] };
    setups.push(setup);
    return setup;
  };
  try {
    const pairs = [];
    for (const files of sizes)
      pairs.push({
        files,
        plain: await open(files, false),
        git: await open(files, true)
      });
    for (let run = -3; run < options.runs; run += 1)
      for (const { plain, git } of pairs)
        for (const setup of [plain, git]) {
          const ms = await timeRun(setup, run);
          if (run >= 0) setup.times.push(ms);
        }
    return {
      title: 'A run whose changes are seen with git',
      rows: pairs.map(({ files, plain, git }) =>
        row(`${files} files; floor: the same without git`, git.times, {
          floor: plain.times
        })
      ),
      notes: pairs.map(
        ({ files, plain, git }) =>
          `${files} files: ${(median(git.times) - median(plain.times)).toFixed(1)} ms more.`
      )
    };
  } finally {
    for (const { workspace, server } of setups) {
      await server.close();
      workspace.remove();
    }
  }
});

/** Milliseconds from the spawn call to the answer of `wait_for_agents`. */
async function timeRun({ workspace, server }, run) {
  // Real workspaces usually have uncommitted changes.
  writeFileSync(join(workspace.path, 'note.txt'), `${run}\n`);
  const from = performance.now();
  const { data } = await server.call('spawn_standin', { prompt: 'Say ok.' });
  const { data: waited } = await server.call('wait_for_agents', {
    agent_ids: [data.agent_id]
  });
  const ms = performance.now() - from;
  const [result] = waited.results;
  if (result.status !== 'completed') throw new Error(JSON.stringify(result));
  return ms;
}

function fill(path, files) {
  for (let file = 0; file < files; file += 1) {
    const folder = join(path, `folder-${file % 20}`);
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, `${file}.txt`), `${file}\n`.repeat(20));
  }
}

function commit(path) {
  const git = (...args) =>
    execFileSync(
      'git',
      ['-c', 'user.name=bench', '-c', 'user.email=bench@localhost', ...args],
      { cwd: path, stdio: 'ignore' }
    );
  git('init');
  git('add', '-A');
  git('commit', '-m', 'bench');
}
