// node:fs/promises for the bundle, loaded at the first call: 2 ms.
const load = () => process.getBuiltinModule('node:fs/promises');
export const lstat = (...args) => load().lstat(...args);
export const mkdir = (...args) => load().mkdir(...args);
export const open = (...args) => load().open(...args);
export const readdir = (...args) => load().readdir(...args);
export const realpath = (...args) => load().realpath(...args);
export const rename = (...args) => load().rename(...args);
export const rm = (...args) => load().rm(...args);
export const stat = (...args) => load().stat(...args);
