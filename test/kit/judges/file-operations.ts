/**
 * Watches what a module does to files, in its order, so that a test can say
 * what is on the disk after a power failure, and lets another process act
 * between two operations. Everything is done for real. A test begins with
 *
 *     vi.mock('node:fs', async () => {
 *       const { watchedFs } = await import('…/judges/file-operations.ts');
 *       return watchedFs();
 *     });
 *
 * and the same for `node:fs/promises` with `watchedPromises`.
 */
import { dirname } from 'node:path';
import { expect } from 'vitest';

interface Operation {
  kind: 'write' | 'sync' | 'rename' | 'link' | 'make' | 'remove';
  path: string;
  /** Of a rename or a link. */
  to?: string;
}

const fs = process.getBuiltinModule('node:fs');
const promises = process.getBuiltinModule('node:fs/promises');
const paths = new Map<number, string>();
const operations: Operation[] = [];
/** What another process may act just before. */
type Moment = Operation['kind'] | 'open' | 'list' | 'stat';

const interruptions: {
  kind: Moment;
  end: string;
  act: () => void;
}[] = [];

type Fs = typeof fs;

/** `node:fs`, whose synchronous functions are watched. */
export function watchedFs(): Fs {
  const watched: Partial<Fs> = {
    openSync: (path, flags, mode) => {
      reach('open', path);
      const isThere = fs.existsSync(path);
      const descriptor = fs.openSync(path, flags, mode);
      paths.set(descriptor, String(path));
      if (!isThere) note('make', path);
      return descriptor;
    },
    closeSync: (descriptor) => {
      fs.closeSync(descriptor);
      paths.delete(descriptor);
    },
    writeSync: ((descriptor: number, ...rest: [Buffer, number]) => {
      reach('write', paths.get(descriptor));
      note('write', paths.get(descriptor) ?? '');
      return fs.writeSync(descriptor, ...rest);
    }) as Fs['writeSync'],
    ftruncateSync: (descriptor, length) => {
      note('write', paths.get(descriptor) ?? '');
      fs.ftruncateSync(descriptor, length);
    },
    writeFileSync: (path, data, options) => {
      if (typeof path !== 'number') note('write', String(path));
      fs.writeFileSync(path, data, options);
    },
    fsyncSync: (descriptor) => {
      reach('sync', paths.get(descriptor));
      fs.fsyncSync(descriptor);
      note('sync', paths.get(descriptor) ?? '');
    },
    fdatasyncSync: (descriptor) => {
      reach('sync', paths.get(descriptor));
      fs.fdatasyncSync(descriptor);
      note('sync', paths.get(descriptor) ?? '');
    },
    renameSync: (from, to) => {
      reach('rename', from, to);
      fs.renameSync(from, to);
      note('rename', from, to);
    },
    linkSync: (from, to) => {
      reach('link', from, to);
      fs.linkSync(from, to);
      note('link', from, to);
    },
    mkdirSync: ((path: string, options: object) => {
      reach('make', path);
      const made = fs.mkdirSync(path, options);
      note('make', path);
      return made;
    }) as Fs['mkdirSync'],
    lstatSync: ((path: string, options: object) => {
      reach('stat', path);
      return fs.lstatSync(path, options);
    }) as Fs['lstatSync'],
    readdirSync: ((path: string, options: object) => {
      reach('list', path);
      return fs.readdirSync(path, options);
    }) as Fs['readdirSync'],
    unlinkSync: (path) => {
      reach('remove', path);
      fs.unlinkSync(path);
      note('remove', path);
    }
  };
  const all = { ...fs, ...watched };
  return { ...all, default: all } as Fs;
}

/** `node:fs/promises`, whose `open` and `rename` are watched. */
export function watchedPromises(): typeof promises {
  const watched: Partial<typeof promises> = {
    open: async (path, flags, mode) => {
      reach('open', path);
      const handle = await promises.open(path, flags, mode);
      for (const name of ['sync', 'datasync'] as const) {
        const really = handle[name].bind(handle);
        handle[name] = async () => {
          await really();
          note('sync', path);
        };
      }
      return handle;
    },
    rename: async (from, to) => {
      reach('rename', from, to);
      await promises.rename(from, to);
      note('rename', from, to);
    }
  };
  const all = { ...promises, ...watched };
  return { ...all, default: all } as typeof promises;
}

/** Forgets what has happened so far, and what was to happen. */
export function watchFiles(): void {
  operations.length = 0;
  interruptions.length = 0;
}

/**
 * Lets another process act at a moment that is otherwise hard to hit: once,
 * just before the next operation of this kind on a path that ends so. Of a
 * rename or a link, it may be either path. If `act` throws, the operation fails.
 */
export function justBefore(kind: Moment, end: string, act: () => void): void {
  interruptions.push({ kind, end, act });
}

/** Counts the operations of this kind on paths that end so, from now on. */
export function countOf(kind: Moment, end: string): { times: number } {
  const count = { times: 0 };
  const again = () =>
    justBefore(kind, end, () => {
      count.times += 1;
      again();
    });
  again();
  return count;
}

/**
 * Fails unless the newest content of the file survives a power failure: it was
 * synced after its last write, under the name that it was written under, and
 * the directory was synced after the file, or a folder around it, got its name.
 */
export function expectDurable(path: string): void {
  expectWholeWhenNamed(path);
  expectNameDurable(path);
}

/** How often a file in this directory, or the directory itself, was synced. */
export function syncsBelow(directory: string): number {
  return operations.filter(
    ({ kind, path }) =>
      kind === 'sync' && (path === directory || dirname(path) === directory)
  ).length;
}

/** Fails unless the name of a file or folder survives a power failure. */
export function expectNameDurable(path: string): void {
  const { at, name } = naming(path);
  expect(at, listed(`${path} was never made`)).toBeGreaterThan(-1);
  expectDirectorySynced(name, at);
}

/** Fails unless a removed or renamed file stays away after a power failure. */
export function expectGoneDurably(path: string): void {
  const at = operations.findLastIndex(
    ({ kind, path: own }) =>
      own === path && (kind === 'remove' || kind === 'rename')
  );
  expect(at, listed(`${path} was never removed`)).toBeGreaterThan(-1);
  expectDirectorySynced(path, at);
}

function expectDirectorySynced(name: string, at: number): void {
  const synced = operations.findLastIndex(is('sync', dirname(name)));
  const problem = `${dirname(name)} was not synced after ${name} changed`;
  expect(synced, listed(problem)).toBeGreaterThan(at);
}

/**
 * Fails unless a power failure leaves the whole file or none: it was synced
 * after its last write, before it got its name.
 */
export function expectWholeWhenNamed(path: string): void {
  const { at, source } = naming(path);
  expect(at, listed(`${path} was never made`)).toBeGreaterThan(-1);
  expectContentSynced(source, source === path ? operations.length : at);
}

/** Fails unless every write to the file was followed by a sync of it. */
export function expectContentSynced(
  path: string,
  before = operations.length
): void {
  const until = operations.slice(0, before);
  const written = until.findLastIndex(is('write', path));
  const synced = until.findLastIndex(is('sync', path));
  expect(written, listed(`${path} was never written`)).toBeGreaterThan(-1);
  expect(synced, listed(`${path} was not synced`)).toBeGreaterThan(written);
}

/** When the file got its name, by which path, and where it was written. */
function naming(path: string): { at: number; name: string; source: string } {
  const at = operations.findLastIndex(({ kind, path: own, to }) =>
    to === undefined
      ? kind === 'make' && own === path
      : `${path}/`.startsWith(`${to}/`)
  );
  const { path: from = path, to = path } = operations[at] ?? {};
  return { at, name: to, source: from + path.slice(to.length) };
}

function is(kind: Operation['kind'], path: string) {
  return (operation: Operation) =>
    operation.kind === kind && operation.path === path;
}

function listed(problem: string): string {
  const list = operations.map(({ kind, path, to }) =>
    [kind, path, ...(to === undefined ? [] : ['->', to])].join(' ')
  );
  return [`${problem}:`, ...list].join('\n  ');
}

/** Called before an operation: what was to happen just before it happens. */
function reach(kind: Moment, ...paths: unknown[]): void {
  const due = interruptions.findIndex(
    (one) =>
      one.kind === kind && paths.some((path) => String(path).endsWith(one.end))
  );
  if (due >= 0) interruptions.splice(due, 1)[0]?.act();
}

function note(kind: Operation['kind'], path: unknown, to?: unknown): void {
  operations.push({
    kind,
    path: String(path),
    ...(to === undefined ? {} : { to: String(to) })
  });
}
