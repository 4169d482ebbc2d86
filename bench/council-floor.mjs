/**
 * The floor of council.mjs, and one of its processes: adds to a file that
 * several processes share, without troupe. Each time it acquires a lock file,
 * reads, rewrites, syncs and renames the file, and releases the lock.
 */
import {
  closeSync,
  fsyncSync,
  openSync,
  readFileSync,
  renameSync,
  unlinkSync,
  writeSync
} from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';

const [path, count, content] = process.argv.slice(2);

process.on('message', async () => {
  for (let index = 0; index < Number(count); index += 1) await add(index);
  process.send('done');
});
process.send('ready');

async function add(index) {
  const lock = `${path}.lock`;
  while (!acquires(lock)) await delay(1 + Math.random() * 5);
  const state = JSON.parse(readFileSync(path, 'utf8'));
  state.feedback.push({ id: `${process.pid}/${index}`, content });
  const descriptor = openSync(`${path}.${process.pid}`, 'w');
  writeSync(descriptor, JSON.stringify(state));
  fsyncSync(descriptor);
  closeSync(descriptor);
  renameSync(`${path}.${process.pid}`, path);
  unlinkSync(lock);
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
