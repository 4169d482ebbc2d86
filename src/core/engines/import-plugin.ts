import { dirname } from 'node:path';
import { pathToFileURL } from 'node:url';
import { errnoOf } from '../errors.ts';
import { wordsOf } from './engine-fault.ts';
import { refuseExits } from './plugin-exits.ts';

/**
 * The default export of a module.
 * @param patienceMs how long the module may take
 * @throws Error with a sentence for the user
 */
export async function importPlugin(
  file: string,
  patienceMs: number
): Promise<unknown> {
  refuseExits(dirname(file));
  const module = import(pathToFileURL(file).href).catch((error: unknown) => {
    throw new Error(problemOf(error, file));
  });
  // With its default: what has a `then` is waited for, as a promise is.
  return within(patienceMs, module.then(defaultOf));
}

/** @throws Error when it takes longer: a top-level await may never end */
async function within<T>(patienceMs: number, work: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    const seconds = patienceMs / 1000;
    const problem = `its module was still loading after ${seconds} s; look for a top-level await that does not end`;
    timer = setTimeout(() => reject(new Error(problem)), patienceMs);
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}

/** Also of a module that was compiled to CommonJS. */
function defaultOf(module: unknown): unknown {
  const found = memberOf(module, 'default');
  if (memberOf(found, '__esModule') === true) return memberOf(found, 'default');
  if (found !== undefined) return found;
  throw new Error(
    'it has no default export; end it with: export default { kind: "cli", … }'
  );
}

function memberOf(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null
    ? Reflect.get(value, name)
    : undefined;
}

/** What cannot be found or read is told with the file that wants it. */
const ofLoading = /^ERR_(MODULE|UNKNOWN|UNSUPPORTED|PACKAGE|REQUIRE|IMPORT)_/;

function problemOf(error: unknown, file: string): string {
  const words = wordsOf(error);
  if (ofLoading.test(errnoOf(error) ?? '')) return words;
  if (error instanceof SyntaxError)
    return `it is not valid JavaScript: ${words}; "node --check ${file}" shows where`;
  return `it threw while it was loaded: ${words}`;
}
