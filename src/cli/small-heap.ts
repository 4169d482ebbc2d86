/** After the start, which counts, and long before there is much. */
const delayMs = 1000;

/**
 * What hundreds of agents take is given back soon, save that V8 by itself lets
 * a small heap grow fourfold before it looks for what may go. Half as much
 * again: a look at so little takes two milliseconds.
 */
export function keepHeapSmall(): void {
  // Not by import(): what Node needs for that takes more than the module.
  const keep = () =>
    process
      .getBuiltinModule('node:v8')
      .setFlagsFromString('--heap-growing-percent=50');
  setTimeout(keep, delayMs).unref();
}
