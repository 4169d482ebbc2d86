/**
 * Completes dist/types: an installation has no other package, so foreign types
 * that ours refer to are copied next to them. Unreferenced types are left out.
 *
 * Types of the protocol's SDK are not copied. A class is only compatible with
 * itself, so a program needs the types of the SDK that it has installed. A
 * program without the SDK needs none.
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
/** If the module is missing, its types are `any`, without an error. */
const anyIfMissing = '@ts-ignore';
const naming = /(?<=\bfrom\s*|\bimport\(?\s*)(['"])([^'"\n]+)\1/g;

const folder = join(import.meta.dirname, '..', 'dist', 'types');

/**
 * @param {string[]} entries declaration files from the compiler
 * @returns {string[]} the foreign files that were copied
 */
export function ownTypes(entries) {
  const targetOf = (file) =>
    file.startsWith(folder)
      ? file
      : join(folder, 'packages', file.split(/node_modules[\\/]/).at(-1));
  /** Source file → the text for its target. */
  const texts = new Map();
  const take = (file) => {
    if (texts.has(file)) return;
    texts.set(file, '');
    const from = dirname(targetOf(file));
    const text = readFileSync(file, 'utf8').replaceAll(
      naming,
      (whole, quote, name) => {
        if (name.startsWith('node:') || sdk.test(name)) return whole;
        const found = declarationOf(name, file);
        take(found);
        const path = relative(from, targetOf(found)).split(sep).join('/');
        const module = path.replace(/\.d\.ts$/, '.js');
        return `${quote}${module.startsWith('.') ? '' : './'}${module}${quote}`;
      }
    );
    texts.set(file, text.replaceAll(importOfSdk, `// ${anyIfMissing}\n$&`));
  };
  for (const entry of entries) take(entry);
  rmSync(folder, { recursive: true });
  for (const [file, text] of texts) {
    mkdirSync(dirname(targetOf(file)), { recursive: true });
    writeFileSync(targetOf(file), text);
  }
  return [...texts.keys()].filter((file) => !file.startsWith(folder));
}

/** The declaration file of a module that `from` imports. */
function declarationOf(name, from) {
  const module = name.startsWith('.')
    ? join(dirname(from), name)
    : fileURLToPath(import.meta.resolve(name));
  const file = module.replace(/(\.d)?\.[jt]s$/, '.d.ts');
  if (!existsSync(file))
    throw new Error(`${from} needs ${name}, without types`);
  return file;
}
