/** The licenses of packages whose code is in dist/. */
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, sep } from 'node:path';

/** Written next to the files that contain the code. */
export const termsFile = 'THIRD-PARTY-LICENSES.txt';

/**
 * @param {Iterable<string>} moduleIds paths of the modules in a bundle
 * @returns {string[]} a section for each package, in the order of their names
 * @throws Error for a package without license terms
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
      `${name} has no terms to list: ask for them, or do without`
    );
  return `== ${name} ${version}: ${license}\n\n${words}\n\n`;
}

/** The license texts. Some packages have theirs only in the README. */
function wordsOf(folder, ids) {
  const files = readdirSync(folder);
  const own = files.filter((one) => /^licen[cs]e/i.test(one)).sort();
  const others = othersIn(folder, ids);
  if (own.length > 0)
    return [...own, ...others]
      .map((file) => read(folder, file).trim())
      .join('\n\n');
  const readme = files.find((one) => /^readme/i.test(one));
  const [, section = ''] =
    /^(?:#+ *)?Licen[cs]e\s*$\s*(?:-+\s*$)?([\s\S]*)/im.exec(
      readme ? read(folder, readme) : ''
    ) ?? [];
  return section.trim();
}

/**
 * The license files of third-party code within a package. A license in a
 * folder counts only if the bundle has a module of that folder; a license below
 * src/ stands for the same folder of the build.
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
