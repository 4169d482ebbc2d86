/**
 * Measures `list_roles` in a workspace with 500 roles: the first call of a
 * server, later calls, and calls after a change. The floor is to stat and to
 * read the files.
 */
import {
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  writeFileSync
} from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { row } from './statistics.mjs';
import { createWorkspace, runBench, startServer } from './support.mjs';

const count = 500;
const firstCalls = 15;
const limit = 50;
/** Files that changed less than two seconds ago are read at every call. */
const settledMs = 2100;
const builtin = join(import.meta.dirname, '..', 'agents');

await runBench(60, async (options) => {
  const workspace = createWorkspace();
  const own = join(workspace.path, 'agents');
  try {
    writeRoles(own);
    const samples = { floor: [], first: [], fresh: [], later: [], changed: [] };
    samples.fresh = await measureFresh(options, workspace);
    await delay(settledMs);
    for (let run = 0; run < firstCalls; run += 1) {
      samples.floor.push(readAll(own, builtin));
      const server = await startServer(options, workspace);
      samples.first.push((await listRoles(server)).ms);
      await server.close();
    }
    const server = await startServer(options, workspace);
    await listRoles(server);
    for (let run = 0; run < options.runs; run += 1) {
      samples.floor.push(readAll(own, builtin));
      samples.later.push((await listRoles(server)).ms);
      writeFileSync(join(own, `role-${run}.md`), roleText(run, 'Changed. '));
      samples.changed.push((await listRoles(server)).ms);
    }
    const { chars } = await listRoles(server);
    await server.close();
    return reportOf(samples, chars);
  } finally {
    workspace.remove();
  }
});

/** Calls while all files have changed less than two seconds ago. */
async function measureFresh(options, workspace) {
  const server = await startServer(options, workspace);
  await listRoles(server);
  const samples = [];
  for (let run = 0; run < 10; run += 1)
    samples.push((await listRoles(server)).ms);
  await server.close();
  return samples;
}

async function listRoles(server) {
  const { data, ms } = await server.call('list_roles');
  if (data.roles.length < count) throw new Error('roles are missing');
  return { ms, chars: JSON.stringify(data).length };
}

function writeRoles(directory) {
  mkdirSync(directory);
  for (let index = 0; index < count; index += 1)
    writeFileSync(join(directory, `role-${index}.md`), roleText(index, ''));
}

/** About as long as a built-in role. */
function roleText(index, added) {
  const description = `Does the work of number ${index}. `.repeat(8);
  const body = 'Read what is there before you change it, and say so.\n';
  return `---\nname: Number ${index}\ndescription: ${description}\naccess: read\n---\n\n${added}${body.repeat(90)}`;
}

/** Milliseconds to stat and to read all files. */
function readAll(...directories) {
  const from = performance.now();
  for (const directory of directories)
    for (const name of readdirSync(directory)) {
      const path = join(directory, name);
      statSync(path);
      readFileSync(path, 'utf8');
    }
  return performance.now() - from;
}

function reportOf({ floor, first, fresh, later, changed }, chars) {
  return {
    title: `\`list_roles\` with ${count} roles of the workspace`,
    rows: [
      row('floor: all files looked at and read', floor),
      row('first call of a server', first, { floor }),
      row('later call', later, { floor, limit, absolute: true }),
      row('call after one file changed', changed, {
        floor,
        limit,
        absolute: true
      }),
      row(`call while all ${count} are fresh`, fresh, {
        floor,
        limit,
        absolute: true
      })
    ],
    notes: [
      `The answer has ${chars} characters.`,
      'Fresh: changed less than two seconds ago. Such a file is read at every call, as a clock may be too coarse to tell two changes apart.'
    ]
  };
}
