/**
 * Bundles packages that are large or rarely needed, each into its own file
 * below dist/, which is loaded at its first use. An installation therefore
 * needs no package other than troupe.
 */
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { rolldown } from 'rolldown';

const root = join(import.meta.dirname, '..');
const sdks = 'plugins/sdk';

/** Package → the exports that are used. */
export const packages = {
  '@clack/prompts': '*',
  '@pydantic/genai-prices': '{ calcPrice }',
  cosmiconfig: '{ defaultLoaders }',
  eta: '{ Eta }',
  'jsonc-parser': '*',
  'smol-toml': '*',
  yaml: '{ parse }'
};

/** A bundler plugin that makes the programs in dist/ load these files. */
export const lazyFiles = {
  name: 'lazy-files',
  resolveId: (id) => {
    const sdk = /^\.{1,2}\/sdk\/(.+)\.ts$/.exec(id)?.[1];
    const file = sdk ? `sdk-${sdk}` : id in packages ? fileNameOf(id) : null;
    return file && { id: `./lazy/${file}.js`, external: true };
  }
};

/**
 * @param {string} dist the target folder
 * @returns {Promise<string[]>} paths of the bundled modules
 */
export async function writeLazyFiles(dist) {
  const entries = [
    ...Object.entries(packages).map(([name, names]) => [
      fileNameOf(name),
      `export ${names} from '${name}';`
    ]),
    ...readdirSync(join(root, sdks)).map((file) => [
      `sdk-${file.replace(/\.ts$/, '')}`,
      `export * from './${sdks}/${file}';`
    ])
  ];
  const inside = await Promise.all(
    entries.map(([name, source]) =>
      writeFile(join(dist, 'lazy', `${name}.js`), source)
    )
  );
  return inside.flat();
}

async function writeFile(file, source) {
  const entry = join(root, 'lazy-file.mjs');
  const build = await rolldown({
    input: entry,
    platform: 'node',
    // Only configurations in TypeScript need it.
    external: ['typescript'],
    // Some packages have ES modules only under `module`.
    resolve: { mainFields: ['module', 'main'] },
    // CommonJS modules use these names.
    transform: {
      define: {
        __filename: 'import.meta.filename',
        __dirname: 'import.meta.dirname'
      }
    },
    plugins: [
      {
        name: 'entry',
        resolveId: (id) => (id === entry ? id : null),
        load: (id) => (id === entry ? source : null)
      }
    ]
  });
  const { output } = await build.write({
    file,
    format: 'esm',
    codeSplitting: false,
    minify: true
  });
  await build.close();
  return output.flatMap(({ moduleIds = [] }) => moduleIds);
}

function fileNameOf(name) {
  return name.replace('@', '').replace('/', '-');
}
