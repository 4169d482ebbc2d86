/** Runs modules of src/ without a build, for scripts that generate files. */
import { mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { rolldown } from 'rolldown';

const root = join(import.meta.dirname, '..');
const entry = 'virtual:entry';

/**
 * Runs a module that imports from `./src/` and returns its exports.
 * @param source the text of the module
 */
export async function fromSources(source) {
  const build = await rolldown({
    input: entry,
    cwd: root,
    platform: 'node',
    external: (id) => id !== entry && /^[^./]/.test(id),
    plugins: [
      {
        name: 'entry',
        resolveId: (id, importer) =>
          id === entry
            ? id
            : importer === entry && id.startsWith('.')
              ? join(root, id)
              : null,
        load: (id) => (id === entry ? source : null)
      }
    ]
  });
  // Next to package.json, where Node finds the packages that it imports.
  const directory = mkdtempSync(join(root, '.dist-'));
  const file = join(directory, 'entry.mjs');
  try {
    await build.write({ file, format: 'esm', codeSplitting: false });
    return await import(pathToFileURL(file).href);
  } finally {
    await build.close();
    rmSync(directory, { recursive: true, force: true });
  }
}
