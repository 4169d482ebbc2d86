/**
 * The floors of council.mjs, and one of their processes: adds to a file that
 * several processes share, without troupe. Each time it acquires a lock file,
 * changes the file, and releases the lock. `append` adds a line and syncs it;
 * `rewrite` reads, rewrites, syncs and renames the whole file.
 */
import {
  closeSync,
  fdatasyncSync,
  fsyncSync,
  openSync,
  readFileSync,
  renameSync,
  unlinkSync,
  writeSync
} from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';

const [path, count, content, way] = process.argv.slice(2);
const change = way === 'append' ? append : rewrite;

process.on('message', async () => {
  for (let index = 0; index < Number(count); index += 1) await add(index);
  process.send('done');
});
process.send('ready');

async function add(index) {
  const lock = `${path}.lock`;
  while (!acquires(lock)) await delay(1 + Math.random() * 5);
  change({ id: `${process.pid}/${index}`, content });
  unlinkSync(lock);
}

function append(response) {
  const descriptor = openSync(path, 'a');
  writeSync(descriptor, `${JSON.stringify(response)}\n`);
  fdatasyncSync(descriptor);
  closeSync(descriptor);
}

function rewrite(response) {
  const state = JSON.parse(readFileSync(path, 'utf8'));
  state.feedback.push(response);
  const descriptor = openSync(`${path}.${process.pid}`, 'w');
  writeSync(descriptor, JSON.stringify(state));
  fsyncSync(descriptor);
  closeSync(descriptor);
  renameSync(`${path}.${process.pid}`, path);
}

function acquires(lock) {
  try {
    closeSync(openSync(lock, 'wx'));
    return true;
  } catch (error) {
    if (error.code === 'EEXIST') return false;
    throw error;
  }
}
