/** The terms of packages whose code is in a file of ours. */
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, sep } from 'node:path';

/** Beside the files that it is about. */
export const termsFile = 'THIRD-PARTY-LICENSES.txt';

/**
 * @param {Iterable<string>} moduleIds paths of the modules in a bundle
 * @returns {string[]} a section for each package, in the order of their names
 * @throws Error for a package that brings no terms
 */
export function termsOf(moduleIds) {
  const ids = [...moduleIds];
  const folders = new Set(ids.map(packageOf).filter(Boolean));
  return [...folders].map((folder) => sectionOf(folder, ids)).sort();
}

/** The folder of the package that a module belongs to. */
function packageOf(id) {
  return /^.*[\\/]node_modules[\\/](?:@[^\\/]+[\\/])?[^\\/]+/.exec(id)?.[0];
}

function sectionOf(folder, ids) {
  const { name, version, license } = JSON.parse(read(folder, 'package.json'));
  const words = wordsOf(folder, ids);
  if (words === '')
    throw new Error(
      `${name} has no terms to tell: ask for them, or do without`
    );
  return `== ${name} ${version}: ${license}\n\n${words}\n\n`;
}

/** Some have them in their README alone. */
function wordsOf(folder, ids) {
  const files = readdirSync(folder);
  const own = files.filter((one) => /^licen[cs]e/i.test(one)).sort();
  const others = othersIn(folder, ids);
  if (own.length > 0)
    return [...own, ...others]
      .map((file) => read(folder, file).trim())
      .join('\n\n');
  const readme = files.find((one) => /^readme/i.test(one));
  const [, said = ''] =
    /^(?:#+ *)?Licen[cs]e\s*$\s*(?:-+\s*$)?([\s\S]*)/im.exec(
      readme ? read(folder, readme) : ''
    ) ?? [];
  return said.trim();
}

/**
 * The files with the terms of code that a package has taken from others, for
 * those parts of it that are used: beside the sources, where the rest is not.
 */
function othersIn(folder, ids) {
  return readdirSync(folder, { recursive: true })
    .filter((file) =>
      /^(?!.*node_modules).*[\\/]licen[cs]e(\.\w+)?$/i.test(file)
    )
    .filter((file) => {
      const part = dirname(file).replace(/^src[\\/]/, '');
      return ids.some((id) => id.startsWith(join(folder, part) + sep));
    })
    .sort();
}

function read(folder, file) {
  return readFileSync(join(folder, file), 'utf8');
}
