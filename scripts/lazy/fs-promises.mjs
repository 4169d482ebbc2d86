// node:fs/promises for the bundle, loaded at the first call: 2 ms.
const load = () => process.getBuiltinModule('node:fs/promises');
export const chmod = (...args) => load().chmod(...args);
export const copyFile = (...args) => load().copyFile(...args);
export const lstat = (...args) => load().lstat(...args);
export const mkdir = (...args) => load().mkdir(...args);
export const open = (...args) => load().open(...args);
export const readFile = (...args) => load().readFile(...args);
export const readdir = (...args) => load().readdir(...args);
export const rename = (...args) => load().rename(...args);
export const rm = (...args) => load().rm(...args);
export const stat = (...args) => load().stat(...args);
export const utimes = (...args) => load().utimes(...args);
