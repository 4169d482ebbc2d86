/**
 * What it costs to see for ourselves what an agent changed: a whole run of a
 * CLI that writes one file and exits, in a git repository, against the same
 * run in the same files without git.
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
  const places = [];
  const open = async (files, isRepository) => {
    const workspace = createWorkspace();
    fill(workspace.path, files);
    writeStandIn(workspace);
    if (isRepository) commit(workspace.path);
    const server = await startServer(options, workspace);
    const place = { workspace, server, times: [] };
    places.push(place);
    return place;
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
        for (const place of [plain, git]) {
          const ms = await timeRun(place, run);
          if (run >= 0) place.times.push(ms);
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
    for (const { workspace, server } of places) {
      await server.close();
      workspace.remove();
    }
  }
});

/** From the call of the spawn until a waiting caller has the result. */
async function timeRun({ workspace, server }, run) {
  // Work that is not committed, as in real life.
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
