// node:child_process for the bundle, loaded at the first call: 2 ms.
const load = () => process.getBuiltinModule('node:child_process');
export const spawn = (...args) => load().spawn(...args);
export const execFile = (...args) => load().execFile(...args);
export const execFileSync = (...args) => load().execFileSync(...args);
export const spawnSync = (...args) => load().spawnSync(...args);
