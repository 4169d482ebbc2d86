/** Modules of src/ as they are now, for scripts that write from them. */
import { mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { rolldown } from 'rolldown';

const root = join(import.meta.dirname, '..');
const entry = 'virtual:entry';

/**
 * Runs a module that imports from `./src/`, and gives what it exports. It
 * needs no build.
 * @param source the module's text
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
  // Beside package.json, where the packages that it needs are found.
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
