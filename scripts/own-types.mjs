/**
 * Makes dist/types whole: who installs troupe has no other package, so the
 * types of others that ours speak of are put beside them. What nothing speaks
 * of is left out.
 *
 * The protocol's SDK is another matter. Its classes are only equal to
 * themselves, so who hands ours to code of his own needs the types of the SDK
 * that he has, and who has none needs none.
 */
import {
  existsSync,
  mkdirSync,
  readFileSync,
  rmSync,
  writeFileSync
} from 'node:fs';
import { dirname, join, relative, sep } from 'node:path';
import { fileURLToPath } from 'node:url';

const sdk = /^@modelcontextprotocol\/sdk\//;
const importOfSdk = /^import .* from '@modelcontextprotocol\/sdk\/.*$/gm;
/** Where the module is missing, its types are `any` and no error. */
const anyIfMissing = '@ts-ignore';
const naming = /(?<=\bfrom\s*|\bimport\(?\s*)(['"])([^'"\n]+)\1/g;

const folder = join(import.meta.dirname, '..', 'dist', 'types');

/**
 * @param {string[]} entries of ours, as the compiler has made them
 * @returns {string[]} the files of others that were put there
 */
export function ownTypes(entries) {
  const placeOf = (file) =>
    file.startsWith(folder)
      ? file
      : join(folder, 'packages', file.split(/node_modules[\\/]/).at(-1));
  /** File → its text, where it is put. */
  const texts = new Map();
  const take = (file) => {
    if (texts.has(file)) return;
    texts.set(file, '');
    const from = dirname(placeOf(file));
    const text = readFileSync(file, 'utf8').replaceAll(
      naming,
      (whole, quote, name) => {
        if (name.startsWith('node:') || sdk.test(name)) return whole;
        const found = declarationOf(name, file);
        take(found);
        const path = relative(from, placeOf(found)).split(sep).join('/');
        const module = path.replace(/\.d\.ts$/, '.js');
        return `${quote}${module.startsWith('.') ? '' : './'}${module}${quote}`;
      }
    );
    texts.set(file, text.replaceAll(importOfSdk, `// ${anyIfMissing}\n$&`));
  };
  for (const entry of entries) take(entry);
  rmSync(folder, { recursive: true });
  for (const [file, text] of texts) {
    mkdirSync(dirname(placeOf(file)), { recursive: true });
    writeFileSync(placeOf(file), text);
  }
  return [...texts.keys()].filter((file) => !file.startsWith(folder));
}

/** Where the types of a module lie that a file speaks of. */
function declarationOf(name, from) {
  const module = name.startsWith('.')
    ? join(dirname(from), name)
    : fileURLToPath(import.meta.resolve(name));
  const file = module.replace(/(\.d)?\.[jt]s$/, '.d.ts');
  if (!existsSync(file))
    throw new Error(`${from} needs ${name}, without types`);
  return file;
}
