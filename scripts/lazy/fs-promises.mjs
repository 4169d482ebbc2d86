// node:fs/promises for the bundle, loaded at the first call: 2 ms.
const load = () => process.getBuiltinModule('node:fs/promises');
export const open = (...args) => load().open(...args);
export const readFile = (...args) => load().readFile(...args);
export const writeFile = (...args) => load().writeFile(...args);
